//! Telling a run in a terminal.
