-- An account is once among the active members of an organization, which the next migration's unique index says. Of several
-- members with one account the oldest stays active; the others are archived, and opportunities still show their names.
update team_members set archived_at = now()
where archived_at is null and exists (
  select from team_members as older
  where older.organization_id = team_members.organization_id and older.user_id = team_members.user_id
    and older.archived_at is null
    and (older.created_at, older.id) < (team_members.created_at, team_members.id));
