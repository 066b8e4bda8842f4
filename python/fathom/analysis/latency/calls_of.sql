-- In which outermost calls these calls lie.
select process, call from calls where id in ({ids})
