//! Errors, as clients know them: a code that they turn into an exception, the name of Java's class, and a text.
//!
//! An error response has type 0 and the correlation of the request. It holds a list: the error, then what caused it.

use super::structures::ErrorHolder;
use crate::field::Text;
use crate::message::{MessageError, MessageReader, RESPONSE_HEADER, record, write_response};
use bytes::BytesMut;

/// The type of an error response.
pub const ERROR_ID: u32 = 0;

record! {
    /// The answer to a request that failed.
    ErrorResponse {
        /// The error, then what caused it, and so on.
        errors: Vec<ErrorHolder>,
    }
}

impl ErrorResponse {
    /// An error without a cause.
    pub fn new(code: ErrorCode, message: impl Into<Text>) -> Self {
        Self {
            errors: vec![ErrorHolder {
                code: code as i32,
                class_name: Text::from_static(code.class_name()),
                message: Some(message.into()),
                stack_trace: Vec::new(),
            }],
        }
    }

    /// Appends the answer to `out`.
    pub fn encode(&self, correlation: i64, out: &mut BytesMut) {
        write_response(self, ERROR_ID, correlation, out);
    }

    /// Reads an error response.
    pub fn decode(reader: &MessageReader) -> Result<Self, MessageError> {
        reader.part(ERROR_ID, "error", RESPONSE_HEADER)
    }
}

macro_rules! error_codes {
    ($($name:ident = $code:literal $class:literal),* $(,)?) => {
        /// What went wrong, by the numbers of the protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum ErrorCode {
            $(
                #[doc = concat!("`", $class, "`")]
                $name = $code,
            )*
        }

        impl ErrorCode {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The class of Java's exception.
            pub const fn class_name(self) -> &'static str {
                match self {
                    $(Self::$name => $class,)*
                }
            }

            /// The error of that number.
            pub const fn from_code(code: i32) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

error_codes! {
    Undefined = 0 "com.hazelcast.client.UndefinedErrorCodeException",
    ArrayIndexOutOfBounds = 1 "java.lang.ArrayIndexOutOfBoundsException",
    ArrayStore = 2 "java.lang.ArrayStoreException",
    Authentication = 3 "com.hazelcast.client.AuthenticationException",
    Cache = 4 "javax.cache.CacheException",
    CacheLoader = 5 "javax.cache.integration.CacheLoaderException",
    CacheNotExists = 6 "com.hazelcast.cache.CacheNotExistsException",
    CacheWriter = 7 "javax.cache.integration.CacheWriterException",
    CallerNotMember = 8 "com.hazelcast.spi.exception.CallerNotMemberException",
    Cancellation = 9 "java.util.concurrent.CancellationException",
    ClassCast = 10 "java.lang.ClassCastException",
    ClassNotFound = 11 "java.lang.ClassNotFoundException",
    ConcurrentModification = 12 "java.util.ConcurrentModificationException",
    ConfigMismatch = 13 "com.hazelcast.internal.cluster.impl.ConfigMismatchException",
    DistributedObjectDestroyed = 14 "com.hazelcast.spi.exception.DistributedObjectDestroyedException",
    Eof = 15 "java.io.EOFException",
    EntryProcessor = 16 "javax.cache.processor.EntryProcessorException",
    Execution = 17 "java.util.concurrent.ExecutionException",
    Hazelcast = 18 "com.hazelcast.core.HazelcastException",
    InstanceNotActive = 19 "com.hazelcast.core.HazelcastInstanceNotActiveException",
    Overload = 20 "com.hazelcast.core.HazelcastOverloadException",
    Serialization = 21 "com.hazelcast.nio.serialization.HazelcastSerializationException",
    Io = 22 "java.io.IOException",
    IllegalArgument = 23 "java.lang.IllegalArgumentException",
    IllegalAccessException = 24 "java.lang.IllegalAccessException",
    IllegalAccessError = 25 "java.lang.IllegalAccessError",
    IllegalMonitorState = 26 "java.lang.IllegalMonitorStateException",
    IllegalState = 27 "java.lang.IllegalStateException",
    IllegalThreadState = 28 "java.lang.IllegalThreadStateException",
    IndexOutOfBounds = 29 "java.lang.IndexOutOfBoundsException",
    Interrupted = 30 "java.lang.InterruptedException",
    InvalidAddress = 31 "com.hazelcast.internal.util.AddressUtil$InvalidAddressException",
    InvalidConfiguration = 32 "com.hazelcast.config.InvalidConfigurationException",
    MemberLeft = 33 "com.hazelcast.core.MemberLeftException",
    NegativeArraySize = 34 "java.lang.NegativeArraySizeException",
    NoSuchElement = 35 "java.util.NoSuchElementException",
    NotSerializable = 36 "java.io.NotSerializableException",
    NullPointer = 37 "java.lang.NullPointerException",
    OperationTimeout = 38 "com.hazelcast.core.OperationTimeoutException",
    PartitionMigrating = 39 "com.hazelcast.spi.exception.PartitionMigratingException",
    Query = 40 "com.hazelcast.query.QueryException",
    QueryResultSizeExceeded = 41 "com.hazelcast.map.QueryResultSizeExceededException",
    SplitBrainProtection = 42 "com.hazelcast.splitbrainprotection.SplitBrainProtectionException",
    ReachedMaxSize = 43 "com.hazelcast.map.ReachedMaxSizeException",
    RejectedExecution = 44 "java.util.concurrent.RejectedExecutionException",
    ResponseAlreadySent = 45 "com.hazelcast.spi.exception.ResponseAlreadySentException",
    RetryableHazelcast = 46 "com.hazelcast.spi.exception.RetryableHazelcastException",
    RetryableIo = 47 "com.hazelcast.spi.exception.RetryableIOException",
    Runtime = 48 "java.lang.RuntimeException",
    Security = 49 "java.lang.SecurityException",
    Socket = 50 "java.net.SocketException",
    StaleSequence = 51 "com.hazelcast.ringbuffer.StaleSequenceException",
    TargetDisconnected = 52 "com.hazelcast.spi.exception.TargetDisconnectedException",
    TargetNotMember = 53 "com.hazelcast.spi.exception.TargetNotMemberException",
    Timeout = 54 "java.util.concurrent.TimeoutException",
    TopicOverload = 55 "com.hazelcast.topic.TopicOverloadException",
    Transaction = 56 "com.hazelcast.transaction.TransactionException",
    TransactionNotActive = 57 "com.hazelcast.transaction.TransactionNotActiveException",
    TransactionTimedOut = 58 "com.hazelcast.transaction.TransactionTimedOutException",
    UriSyntax = 59 "java.net.URISyntaxException",
    UtfDataFormat = 60 "java.io.UTFDataFormatException",
    UnsupportedOperation = 61 "java.lang.UnsupportedOperationException",
    WrongTarget = 62 "com.hazelcast.spi.exception.WrongTargetException",
    Xa = 63 "javax.transaction.xa.XAException",
    AccessControl = 64 "java.security.AccessControlException",
    Login = 65 "javax.security.auth.login.LoginException",
    UnsupportedCallback = 66 "javax.security.auth.callback.UnsupportedCallbackException",
    NoDataMember = 67 "com.hazelcast.partition.NoDataMemberInClusterException",
    ReplicatedMapCantBeCreated = 68 "com.hazelcast.replicatedmap.ReplicatedMapCantBeCreatedOnLiteMemberException",
    MaxMessageSizeExceeded = 69 "com.hazelcast.client.impl.protocol.exception.MaxMessageSizeExceeded",
    WanReplicationQueueFull = 70 "com.hazelcast.wan.WanQueueFullException",
    Assertion = 71 "java.lang.AssertionError",
    OutOfMemory = 72 "java.lang.OutOfMemoryError",
    StackOverflow = 73 "java.lang.StackOverflowError",
    NativeOutOfMemory = 74 "com.hazelcast.memory.NativeOutOfMemoryError",
    ServiceNotFound = 75 "com.hazelcast.spi.exception.ServiceNotFoundException",
    StaleTaskId = 76 "com.hazelcast.durableexecutor.StaleTaskIdException",
    DuplicateTask = 77 "com.hazelcast.scheduledexecutor.DuplicateTaskException",
    StaleTask = 78 "com.hazelcast.scheduledexecutor.StaleTaskException",
    LocalMemberReset = 79 "com.hazelcast.core.LocalMemberResetException",
    IndeterminateOperationState = 80 "com.hazelcast.core.IndeterminateOperationStateException",
    NodeIdOutOfRange = 81 "com.hazelcast.flakeidgen.impl.NodeIdOutOfRangeException",
    TargetNotReplica = 82 "com.hazelcast.crdt.TargetNotReplicaException",
    MutationDisallowed = 83 "com.hazelcast.crdt.MutationDisallowedException",
    ConsistencyLost = 84 "com.hazelcast.core.ConsistencyLostException",
    SessionExpired = 85 "com.hazelcast.cp.internal.session.SessionExpiredException",
    WaitKeyCancelled = 86 "com.hazelcast.cp.internal.datastructures.exception.WaitKeyCancelledException",
    LockAcquireLimitReached = 87 "com.hazelcast.cp.lock.exception.LockAcquireLimitReachedException",
    LockOwnershipLost = 88 "com.hazelcast.cp.lock.exception.LockOwnershipLostException",
    CpGroupDestroyed = 89 "com.hazelcast.cp.exception.CPGroupDestroyedException",
    CannotReplicate = 90 "com.hazelcast.cp.exception.CannotReplicateException",
    LeaderDemoted = 91 "com.hazelcast.cp.exception.LeaderDemotedException",
    StaleAppendRequest = 92 "com.hazelcast.cp.exception.StaleAppendRequestException",
    NotLeader = 93 "com.hazelcast.cp.exception.NotLeaderException",
    VersionMismatch = 94 "com.hazelcast.internal.cluster.impl.VersionMismatchException",
    NoSuchMethodError = 95 "java.lang.NoSuchMethodError",
    NoSuchMethodException = 96 "java.lang.NoSuchMethodException",
    NoSuchFieldError = 97 "java.lang.NoSuchFieldError",
    NoSuchFieldException = 98 "java.lang.NoSuchFieldException",
    NoClassDefFound = 99 "java.lang.NoClassDefFoundError",
}
