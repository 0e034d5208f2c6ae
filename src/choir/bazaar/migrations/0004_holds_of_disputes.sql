-- Whose deposit a hold is, while the dispute is not over: nobody else may end it then.
create index disputes_hold on disputes (hold) where state <> 'resolved';
