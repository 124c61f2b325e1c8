"""What sessions promise on the local cluster they keep on the real one, as a user with exactly the rights we print."""

from __future__ import annotations

import pytest

from tests.sessions.test_launch import (
    test_a_busy_launch_is_refused_without_wait_and_starts_by_itself_with_wait as test_busy_then_waiting,
)
from tests.sessions.test_launch import (
    test_a_kernel_that_cannot_start_is_a_crash_with_its_words as test_a_crash_has_its_words,
)
from tests.sessions.test_launch import (
    test_a_launch_costs_at_most_six_requests_and_lists_nothing,
    test_a_launched_session_names_its_device_and_stopping_leaves_nothing,
    test_a_session_object_launches_blocks_and_stops,
    test_a_template_gives_a_claim_of_its_own_to_the_pod,
    test_a_wait_that_is_over_ends_the_session,
    test_an_existing_claim_of_the_user_is_used_and_never_owned_or_deleted,
    test_an_image_that_cannot_be_pulled_ends_the_launch_and_undoes_it,
    test_cancel_at_every_step_leaves_nothing,
    test_impossible_requirements_are_refused_before_anything_is_made,
    test_pod_owns_claim_and_secret_and_runs_at_level_restricted,
    test_the_log_of_a_kernel_can_be_read,
    test_two_kernels_share_one_claim_and_the_last_one_out_releases,
)

__all__ = [
    "test_a_crash_has_its_words",
    "test_a_launch_costs_at_most_six_requests_and_lists_nothing",
    "test_a_launched_session_names_its_device_and_stopping_leaves_nothing",
    "test_a_session_object_launches_blocks_and_stops",
    "test_a_template_gives_a_claim_of_its_own_to_the_pod",
    "test_a_wait_that_is_over_ends_the_session",
    "test_an_existing_claim_of_the_user_is_used_and_never_owned_or_deleted",
    "test_an_image_that_cannot_be_pulled_ends_the_launch_and_undoes_it",
    "test_busy_then_waiting",
    "test_cancel_at_every_step_leaves_nothing",
    "test_impossible_requirements_are_refused_before_anything_is_made",
    "test_pod_owns_claim_and_secret_and_runs_at_level_restricted",
    "test_the_log_of_a_kernel_can_be_read",
    "test_two_kernels_share_one_claim_and_the_last_one_out_releases",
]
pytestmark = pytest.mark.controlplane
