-- Of rows of `calls`: made by a server of these names, or on a file that stands for one. A part of other statements, a condition.
(
	process in (with {latency/servers} select process from server_process where {named})
	or file in (with {latency/servers} select file from server_file where {named})
)
