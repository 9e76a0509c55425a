# An image that runs the study. Build and run it, and copy the results to this directory:
#   docker build --tag sampled-metrics .
#   docker run --name study sampled-metrics && docker cp study:/study/results .
# Dependabot updates the digest, which is that of Python 3.11 on all platforms.
FROM python:3.11-slim@sha256:9534e5a8e315485d4061ed659af0fd78a284c015f9b73661b41d6bab25604534

# implicit needs the OpenMP runtime. Debian has no old versions that could be pinned.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libgomp1 make \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home study \
 && install --directory --owner study /study

USER study
WORKDIR /study
COPY --chown=study requirements-study.lock ./
RUN python -m venv .venv \
 && .venv/bin/pip install --no-cache-dir --require-hashes --requirement requirements-study.lock
COPY --chown=study . ./
RUN .venv/bin/pip install --no-deps --no-build-isolation --editable . && touch .venv/.study

ENV PATH=/study/.venv/bin:$PATH
CMD ["make", "reproduce"]
