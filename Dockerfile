# The official image of PostgreSQL, with the library preloaded.
#
#	docker build --build-arg PG_MAJOR=17 -t leaderboard .
#
# It is used like the official one.  compose.yaml makes a first board in it.
ARG PG_MAJOR=17

FROM postgres:${PG_MAJOR}-bookworm AS build
# hadolint ignore=DL3008
RUN apt-get update && \
    apt-get install -y --no-install-recommends gcc libc6-dev make "postgresql-server-dev-$PG_MAJOR" && \
    rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Makefile leaderboard.control ./
COPY sql sql
COPY src src
RUN make -s -j"$(nproc)" with_llvm=no install DESTDIR=/out

FROM postgres:${PG_MAJOR}-bookworm
COPY --from=build /out /
# initdb copies the file.
RUN echo "shared_preload_libraries = 'leaderboard'" >>/usr/share/postgresql/postgresql.conf.sample
