"""What makes the site lies beside its configuration, not in the package."""

import sys

from tests.helpers import ROOT

sys.path.append(str(ROOT / "docs" / "site"))
