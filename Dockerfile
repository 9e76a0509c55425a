# An image that runs the study, with which its results are copied here:
#   docker build --tag sampled-metrics .
#   docker run --name study sampled-metrics && docker cp study:/study/results .
FROM python:3.11-slim

# implicit needs the runtime of OpenMP. Debian keeps no old versions that could be pinned.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libgomp1 make \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /study
COPY requirements.lock ./
RUN python -m venv .venv && .venv/bin/pip install --no-cache-dir --require-hashes --requirement requirements.lock
COPY . ./
RUN .venv/bin/pip install --no-deps --no-build-isolation --editable . && touch .venv/.installed

ENV PATH=/study/.venv/bin:$PATH
CMD ["make", "reproduce"]
