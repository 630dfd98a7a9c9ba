from __future__ import annotations

from django.urls import path

from dashboard.people.views import invitations, people, teams, tokens

urlpatterns = [
    path("settings/people/", people.people_page, name="people"),
    path("settings/people/<int:person_id>/", people.person_page, name="person"),
    path(
        "settings/people/<int:person_id>/password/", people.reset_password, name="person-password"
    ),
    path("settings/people/<int:person_id>/role/", people.set_administrator, name="person-role"),
    path("settings/people/<int:person_id>/grants/", people.give_role, name="person-grants"),
    path(
        "settings/people/<int:person_id>/grants/<int:grant_id>/take/",
        people.take_role,
        name="grant-take",
    ),
    path(
        "settings/people/<int:person_id>/withdraw/",
        people.withdraw_invitation,
        name="person-withdraw",
    ),
    path(
        "settings/people/<int:person_id>/deactivate/",
        people.deactivate_person,
        name="person-deactivate",
    ),
    path(
        "settings/people/<int:person_id>/reactivate/",
        people.reactivate_person,
        name="person-reactivate",
    ),
    path("settings/teams/", teams.teams_page, name="teams"),
    path("settings/teams/<int:team_id>/", teams.team_page, name="team"),
    path("settings/teams/<int:team_id>/endpoints/", teams.move_endpoints, name="team-endpoints"),
    path("settings/teams/<int:team_id>/remove/", teams.remove_team, name="team-remove"),
    path("invitations/<str:token>/", invitations.invitation_page, name="invitation"),
    path(
        "settings/people/<int:person_id>/unlock/",
        people.unlock_person,
        name="person-unlock",
    ),
    path(
        "settings/people/<int:person_id>/second-factor/",
        people.reset_second_factor,
        name="person-second-factor",
    ),
    path("settings/tokens/", tokens.tokens_page, name="tokens"),
    path("settings/tokens/<slug:prefix>/revoke/", tokens.revoke_token, name="token-revoke"),
]
