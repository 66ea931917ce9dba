"""A service whose handler waits for an upstream that answers slowly."""

import json
import time


def fetch_profile(user):
    time.sleep(0.012)
    return {"user": user, "name": f"user {user}"}


def render(profile):
    return json.dumps({"profile": profile, "menu": list(range(300))})


def handle(user):
    return render(fetch_profile(user))


def main():
    for user in range(40):
        handle(user)


if __name__ == "__main__":
    main()
