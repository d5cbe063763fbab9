# On Colab this cell fetches the course. Anywhere else it does nothing.
import sys

REPO = ""  # owner/name on GitHub; `make colab REPO=owner/name` writes it here
KEEP_ON_DRIVE = False  # True: what you train stays on your Google Drive

if "google.colab" in sys.modules:
    import os

    course = os.path.abspath("attention-course")
    address = f"https://github.com/{REPO}"
    clone = f"git clone -q --depth=1 {address} new-course 2> /dev/null"
    if REPO and not os.path.isdir(course):
        os.system(f"rm -rf new-course; {clone} && mv new-course {course}")
    if os.path.isdir(course):
        sys.path.insert(0, course)
        from lessonkit.colab import set_up

        set_up(KEEP_ON_DRIVE)
    elif REPO:
        print(f"Could not fetch {address}: check REPO, and rerun this cell.")
    else:
        print("Set REPO above to the course's owner/name on GitHub, and rerun.")
