"""The role policies of policy.yaml, in the form the context compiler takes."""

from collections.abc import Mapping

from services.context.roles import Part, RolePolicy
from services.governance.policy import Policy
from services.profile.fields import unseen
from services.wire.recall import RecallRole

Roles = Mapping[RecallRole, RolePolicy]


def role_policies(policy: Policy) -> Roles:
    """Return what every role sees; the policy names them all."""
    return {
        RecallRole(name): RolePolicy(
            frozenset(map(Part, rules.parts)),
            rules.kinds,
            rules.memories,
            rules.hidden_keys,
            fields=frozenset(policy.profile),
            unseen=frozenset(unseen(policy.profile, name)),
        )
        for name, rules in policy.roles.items()
    }
