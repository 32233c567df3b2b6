//! The flags of a frame.

/// What a frame is and where in its message it stands.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// A plain frame: a field, or several fields of fixed size.
    pub const NONE: Self = Self(0);
    /// First frame of the first fragment.
    pub const BEGIN_FRAGMENT: Self = Self(0x8000);
    /// First frame of the last fragment.
    pub const END_FRAGMENT: Self = Self(0x4000);
    /// First frame of a message that was not cut into fragments.
    pub const UNFRAGMENTED: Self = Self(0xC000);
    /// Last frame of a message, or of a fragment.
    pub const FINAL: Self = Self(0x2000);
    /// Begins a list or a structure.
    pub const BEGIN_DATA: Self = Self(0x1000);
    /// Ends a list or a structure.
    pub const END_DATA: Self = Self(0x0800);
    /// Stands for a field without a value.
    pub const NULL: Self = Self(0x0400);
    /// First frame of an event.
    pub const EVENT: Self = Self(0x0200);
    /// First frame of a request whose sender counts backup acknowledgements itself.
    pub const BACKUP_AWARE: Self = Self(0x0100);
    /// First frame of a backup acknowledgement.
    pub const BACKUP_EVENT: Self = Self(0x0080);

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any flag of `other` is set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The flags of both.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}
