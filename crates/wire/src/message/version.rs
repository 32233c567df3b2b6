//! Versions of the client protocol.

/// A version of the client protocol. Fields are added at the end of a message, never taken away, so it only says how much is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Always 2 here.
    pub major: u8,
    /// Counts up with each release.
    pub minor: u8,
    /// Mostly 0.
    pub patch: u8,
}

impl Version {
    /// The first with frames.
    pub const V2_0: Self = Self::new(0);
    /// Members have more than one address.
    pub const V2_0_1: Self = Self { patch: 1, ..Self::new(0) };
    /// 2.1
    pub const V2_1: Self = Self::new(1);
    /// 2.2
    pub const V2_2: Self = Self::new(2);
    /// 2.3
    pub const V2_3: Self = Self::new(3);
    /// 2.4
    pub const V2_4: Self = Self::new(4);
    /// 2.5
    pub const V2_5: Self = Self::new(5);
    /// 2.6
    pub const V2_6: Self = Self::new(6);
    /// 2.7
    pub const V2_7: Self = Self::new(7);
    /// 2.8
    pub const V2_8: Self = Self::new(8);
    /// The newest that is spoken here.
    pub const NEWEST: Self = Self::V2_8;

    const fn new(minor: u8) -> Self {
        Self { major: 2, minor, patch: 0 }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.patch {
            0 => write!(f, "{}.{}", self.major, self.minor),
            patch => write!(f, "{}.{}.{patch}", self.major, self.minor),
        }
    }
}
