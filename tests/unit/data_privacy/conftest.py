"""Use the accounts of the suppression list's tests."""

from tests.unit.suppression.conftest import account as account
from tests.unit.suppression.conftest import suppression_cloud as suppression_cloud
