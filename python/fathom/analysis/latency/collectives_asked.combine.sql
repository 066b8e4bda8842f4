select distinct collective, elapsed from partials order by elapsed desc, collective {top}
