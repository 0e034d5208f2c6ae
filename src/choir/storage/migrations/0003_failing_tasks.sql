-- What fails is shown to operators, the most tried first; there are few of them among many tasks.

create index tasks_failing on tasks (attempts desc, name, key) where attempts > 0;
