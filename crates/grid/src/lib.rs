//! The data grid: operations on partitions, and the structures made of them.
#![forbid(unsafe_code)]
