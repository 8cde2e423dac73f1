//! The control plane: what passes the gates, what is written down, and what is freed, however a call ends.

mod audit;
mod bad_input;
mod gates;
mod model;
mod running;
mod world;
