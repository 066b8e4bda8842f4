/* Every option of `fathom run` and `fathom env`, in the order of --help. A new one is a row here, and who reads its value.
 *
 * TEXT(field, …)  `const char *field` of struct options is the value; NULL: not given
 * FLAG(field, …)  `bool field` is true: it was given
 * TAKEN(…)        a function of options.c puts the value where it belongs
 *
 * "name", "VALUE" (NULL: takes none; `[=...]`: may be left out), "help", and what is not usual, as struct option_row
 * (options.c) has it: .variable is what the program gets (docs/environment.md), .json the key in run.json, which
 * docs/run-json.md, run/manifest.py (FORM) and run/anonymise/described.py know, too. */
/* clang-format off */
TEXT(output, "output", "NAME",
     "run directory NAME.fathom (default: from the program and the job)",
     .take = take_output, .letter = 'o')
TAKEN("layers", "LIST",
      "layers to record, comma-separated, or +LAYER, -LAYER: besides the usual ones, without it. Usual: every I/O layer, "
      "and MPI communication counted only (mpi:counted). +threads: threads, locks",
      .take = take_layers)
TAKEN("level", "LEVEL", "off, job, file or call: how fine to record (default: call)",
      .take = take_level)
TAKEN("budget", "SIZE", "most bytes of stream per process, as 64MiB, 1G (default: 64MiB)",
      .take = take_budget)
TEXT(ranks, "ranks", "LIST", "ranks to record, as 0, 0-63, 0-63:8, comma-separated (default: all)",
     .take = take_ranks, .variable = "FATHOM_RANKS")
TEXT(files, "files", "GLOB",
     "record only these files; !GLOB leaves files out; repeatable, the last match counts",
     .take = add_glob, .variable = "FATHOM_FILES")
TEXT(select, "select", "FILE",
     "what to record, and how finely, as a file says (docs/selection.md), in place of the four options above; critical: "
     "only who holds the others up, at the moment, in full",
     .json = "selection", .form = FILE_TEXT)
TEXT(tuned, "tuned", "FILE",
     "set these hints, HDF5 properties, variables, layouts in the program (docs/settings.md; H5Tuner's XML too)",
     .json = "tuned", .form = FILE_TEXT)
FLAG(tunable, "tunable", NULL,
     "hints of files that are opened later may be changed while it runs: fathom tune --live",
     .json = "tunable")
TEXT(mmap, "mmap", "dirty", "tell which pages of mapped files are written (Linux 6.7)",
     .take = take_mmap, .variable = "FATHOM_MMAP")
FLAG(paths, "paths", NULL,
     "tell of each call which functions led to it: 0.1 microseconds more a call (of MPI-IO, HDF5 and netCDF it is always "
     "told)",
     .variable = "FATHOM_PATHS")
TEXT(regions, "regions", "NAME=FILE:FUNCTION",
     "calls of a Python function are a region of that name, as epoch=train.py:run_epoch; repeatable",
     .take = add_region, .json = "regions", .form = LINES, .variable = "FATHOM_REGIONS")
TEXT(skip, "skip", "NAME",
     "a wrapper's lines are not the user's own, but those that call it: a library, source file, folder or Python module; "
     "repeatable",
     .take = add_skipped, .json = "skip", .form = LINES)
TEXT(probes, "probes", "FILE",
     "record the functions of your own catalog too (docs/catalog.md); repeatable (default: those in FATHOM_PROBES, "
     "colon-separated)",
     .take = add_probes, .json = "probes", .form = PATHS, .variable = "FATHOM_PROBES")
TAKEN("agent", NULL,
      "one agent per node: samples of processors, memory, network, disks and Lustre each second; saves at once what "
      "killed processes leave",
      .take = take_agent)
TEXT(sample, "sample", "SECONDS", "the same with another interval; 0: no samples",
     .take = take_sample, .json = "sample", .form = NUMBER)
TEXT(ceph, "ceph", "[=DIR]",
     "the agent asks Ceph's storage daemons (OSDs) on this node what they did, by their admin sockets in DIR (default: "
     "/var/run/ceph)",
     .take = take_ceph)
TEXT(collect, "collect", "HOST:PORT/KEY",
     "the agent sends the node's streams to `fathom pack --collect` there",
     .take = take_collect)
TAKEN("trace-sink", "forward[=WORDS]",
      "the agent ships the node's streams through forwarding servers into few shared files (docs/trace-sink.md); WORDS, "
      "comma-separated: flush=full|step|end, size=SIZE, mark=SIZE, nonblocking, plain",
      .take = sink_parse)
TAKEN("forward", "[=N]",
      "I/O below the current directory goes through N forwarding servers (default: 1) on this machine, started for "
      "PROGRAM and recorded",
      .take = take_forward, .of = RUN, .instead = "; fathom forward up starts servers for a script")
TEXT(forward_path, "forward-path", "DIR", "the same of another directory",
     .take = take_forward_path, .of = RUN)
TEXT(forward_storage, "forward-storage", "DIR",
     "each server keeps stripes of the files in a directory of its own below DIR; after the program they are copied to "
     "where they belong",
     .take = take_forward_storage, .of = RUN)
FLAG(strace, "strace", NULL,
     "record by strace, slower and system calls only: for static programs, Go, and others that no library can be brought "
     "into",
     .of = RUN)
FLAG(kernel, "kernel", "[=calls]",
     "what the kernel does for PROGRAM, too: page cache, block devices, pauses of writers, commits of journals; calls: "
     "and system calls of programs that no library can be brought into; as root, or with CAP_BPF and CAP_PERFMON "
     "(docs/kernel.md)",
     .take = take_kernel, .json = "kernel", .of = RUN)
TEXT(keep_calls_if, "keep-calls-if", "LIST",
     "once PROGRAM has ended, keep the calls of a node only if it shows one of these, comma-separated, else their sums: "
     "io>10% (of the run time), errors, unfinished, failed, finding>5s (default: FATHOM_KEEP_CALLS_IF, or all stay)",
     .take = take_keep, .json = "keep_calls_if", .of = RUN,
     .instead = "; fathom pack RUN --keep-calls-if decides at the job's end")
FLAG(no_show, "no-show", NULL, "no summary on stderr at the end", .of = RUN)
FLAG(join, "join", NULL,
     "one of the commands that a launcher started, one on each node: all of them get one run (default: a run of its own)",
     .of = ENV, .instead = "; behind a launcher fathom run does it always")
TEXT(shell, "shell", "SHELL", "for sh (bash, zsh, ksh too), csh (tcsh), fish, or json (default: sh)",
     .of = ENV)
TAKEN("help", NULL, "this text", .letter = 'h')
