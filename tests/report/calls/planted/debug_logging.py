"""A job that formats a debug message for each record."""

import io
import logging

log = logging.getLogger("job")


def set_up():
    logging.basicConfig(stream=io.StringIO(), level=logging.DEBUG, format="%(asctime)s %(name)s %(message)s")


def convert(record):
    value = record * 3 + 1
    log.debug("record %d became %d", record, value)
    return value


def main():
    set_up()
    print(sum(convert(record) for record in range(6000)))


if __name__ == "__main__":
    main()
