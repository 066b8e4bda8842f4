//! The real encoder, `runtime/core`, in a program that says what it recorded: `program.c`. Tests compare that
//! with what the decoder and the packer make of its streams.
