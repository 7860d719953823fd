-- On the primary: from now on a commit waits for the standby, if the standby follows.
select $$alter system set synchronous_standby_names = 'standby'$$
where exists (select from pg_stat_replication where application_name = 'standby' and state = 'streaming') \gexec
select pg_reload_conf();
