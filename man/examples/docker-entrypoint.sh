#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Starts slated in the image of Dockerfile.slated as images of memcached start memcached.
#
#   docker-entrypoint.sh [memcached|slated] [OPTION...]
#   docker-entrypoint.sh COMMAND...
#
# Words that begin with a dash are options of slated, also behind the names by which images start memcached. Another
# first word is a command that runs in slated's place. Options come from /etc/slated.conf, SLATED_OPTIONS, the
# variables of Bitnami's image that stand below, and the words, and the later ones win.
set -ef

program=slated # as memcached, it answers -h and -V as memcached does
case ${1:--} in
-*) ;;
memcached | */memcached) program=memcached && shift ;;
slated | */slated | */run.sh) shift ;;
*) exec "$@" ;;
esac

# A server without the password that somebody asked for would be open to all.
if [ -n "${MEMCACHED_PASSWORD:-}${MEMCACHED_PASSWORD_FILE:-}" ]; then
    echo "slated: MEMCACHED_PASSWORD has no effect here: write name:password:role into a file and name it with -Y" >&2
    exit 64
fi

export SLATED_OPTIONS="--config /etc/slated.conf ${SLATED_OPTIONS:-}"
# shellcheck disable=SC2086  # the extra flags are words
exec "$program" \
    ${MEMCACHED_LISTEN_ADDRESS:+-l "$MEMCACHED_LISTEN_ADDRESS"} \
    ${MEMCACHED_PORT_NUMBER:+-p "$MEMCACHED_PORT_NUMBER"} \
    ${MEMCACHED_CACHE_SIZE:+-m "$MEMCACHED_CACHE_SIZE"} \
    ${MEMCACHED_MAX_CONNECTIONS:+-c "$MEMCACHED_MAX_CONNECTIONS"} \
    ${MEMCACHED_THREADS:+-t "$MEMCACHED_THREADS"} \
    ${MEMCACHED_MAX_ITEM_SIZE:+-I "$MEMCACHED_MAX_ITEM_SIZE"} \
    ${MEMCACHED_EXTRA_FLAGS:-} "$@"
