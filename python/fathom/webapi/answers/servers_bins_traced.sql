-- Calls that servers made for others; what they had others do is their work. A part of servers_bins.sql, a condition.
layer = 'server' and kind <> 'comm'
