# An image that runs the study: docker build --tag sampled-metrics . && docker run sampled-metrics
FROM python:3.11-slim

# implicit needs the runtime of OpenMP.
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
