use super::*;

#[test]
fn the_partition_hash_does_not_count_for_equality() {
    let plain = Data::new(-11, b"\0\0\0\x01a");
    let mut bytes = plain.as_bytes().to_vec();
    bytes[..4].copy_from_slice(&7_i32.to_be_bytes());
    let hashed = Data::from_bytes(bytes).unwrap();
    assert_eq!(plain, hashed);
    assert_eq!((hashed.partition_hash(), hashed.partition().number()), (7, 7));
}

#[test]
fn the_smallest_hash_goes_to_partition_zero() {
    assert_eq!(PartitionId::of_hash(i32::MIN).number(), 0);
    assert_eq!(PartitionId::of_hash(-272).number(), 1);
}

#[test]
fn too_few_bytes_are_refused() {
    assert_eq!(Data::from_bytes(vec![0; 7]), Err(TooShort { length: 7 }));
}
