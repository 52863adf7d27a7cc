# becket from source, as one static program.
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential ca-certificates curl git valgrind xz-utils
RUN curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --default-toolchain 1.95.0
WORKDIR /src
COPY . .
RUN PATH="$HOME/.cargo/bin:$PATH" cargo xtask dist --program-only
RUN mkdir -p /out && cp target/*/dist/becket target/*/dist/becket-hook target/*/dist/becket-jq target/*/dist/becket-sandbox /out/

FROM debian:bookworm-slim
# git for snapshots and for what models do; certificates for the providers.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/becket /out/becket-hook /out/becket-jq /out/becket-sandbox /usr/local/bin/
WORKDIR /work
ENTRYPOINT ["becket"]
