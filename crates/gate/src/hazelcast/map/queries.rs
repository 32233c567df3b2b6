//! Queries: by predicate, page by page, aggregations, projections, indexes.

use super::processors::code;
use crate::hazelcast::answers::{done, done_anyway, found_one, items};
use crate::hazelcast::call::{Call, Desk};
use crate::hazelcast::failure::{Failure, Handled};
use filbert_grid::Map;
use filbert_grid::query::{
    Aggregator, Anchor, BitmapOptions, IndexKind, IndexSettings, IterationType, PageResult, PagingPredicate,
    Predicate, Projection, UniqueKeyTransformation,
};
use filbert_wire::messages::answers::{Pairs, Projected};
use filbert_wire::messages::map as m;
use filbert_wire::messages::structures::{AnchorDataListHolder, PagingPredicateHolder};
use filbert_wire::{Data, type_id};

/// The predicate that a client sent.
pub(super) fn predicate(desk: &Desk, data: &Data) -> Result<Predicate, Failure> {
    Ok(Predicate::from_data(data, desk.host.grid.catalog())?)
}

fn pairs(entries: Vec<(Data, Data)>) -> Pairs {
    Pairs { entries }
}

fn projected(values: Vec<Data>) -> Projected {
    Projected { values: values.into_iter().map(Some).collect() }
}

pub(in crate::hazelcast) fn key_set_with_predicate(
    map: &Map,
    mut call: Call<'_, m::KeySetWithPredicate>,
    request: m::KeySetWithPredicate,
) -> Handled {
    let predicate = predicate(call.desk, &request.predicate)?;
    let map = call.bounded(map);
    call.answering().follow_all(map.key_set_where(&predicate), items)
}

pub(in crate::hazelcast) fn values_with_predicate(
    map: &Map,
    mut call: Call<'_, m::ValuesWithPredicate>,
    request: m::ValuesWithPredicate,
) -> Handled {
    let predicate = predicate(call.desk, &request.predicate)?;
    let map = call.bounded(map);
    call.answering().follow_all(map.values_where(&predicate), items)
}

pub(in crate::hazelcast) fn entries_with_predicate(
    map: &Map,
    mut call: Call<'_, m::EntriesWithPredicate>,
    request: m::EntriesWithPredicate,
) -> Handled {
    let predicate = predicate(call.desk, &request.predicate)?;
    let map = call.bounded(map);
    call.answering().follow_all(map.entry_set_where(&predicate), pairs)
}

pub(in crate::hazelcast) fn remove_all(
    map: &Map,
    call: Call<'_, m::RemoveAll>,
    request: m::RemoveAll,
) -> Handled {
    let predicate = predicate(call.desk, &request.predicate)?;
    call.answering().follow_all(map.remove_where(&predicate), done_anyway)
}

pub(in crate::hazelcast) fn execute_with_predicate(
    map: &Map,
    call: Call<'_, m::ExecuteWithPredicate>,
    request: m::ExecuteWithPredicate,
) -> Handled {
    let (predicate, code) = (predicate(call.desk, &request.predicate)?, code(&request.entry_processor)?);
    call.answering().follow_long(map.execute_on_entries_where(&predicate, &code), pairs)
}

/// What a client asks for, page by page.
fn paging(desk: &Desk, holder: PagingPredicateHolder) -> Result<PagingPredicate, Failure> {
    // Python leaves out what is not there, Node.js sends a serialized null.
    let given = |data: Option<Data>| data.filter(|data| data.type_id() != type_id::NULL);
    let inner = given(holder.predicate).as_ref().map(|data| predicate(desk, data)).transpose()?;
    let iteration = IterationType::of_number(holder.iteration_type as u8)?;
    let pages = holder.anchors.pages.into_iter().zip(holder.anchors.anchors);
    let anchors = pages.map(|(page, (key, value))| Anchor { page, key, value }).collect();
    let paging = PagingPredicate::new(inner, holder.page_size, holder.page, iteration)?;
    Ok(paging.with_comparator(given(holder.comparator)).with_anchors(anchors))
}

fn anchors(page: &PageResult) -> AnchorDataListHolder {
    AnchorDataListHolder {
        pages: page.anchors.iter().map(|anchor| anchor.page).collect(),
        anchors: page.anchors.iter().map(|anchor| (anchor.key.clone(), anchor.value.clone())).collect(),
    }
}

pub(in crate::hazelcast) fn key_set_with_paging_predicate(
    map: &Map,
    mut call: Call<'_, m::KeySetWithPagingPredicate>,
    request: m::KeySetWithPagingPredicate,
) -> Handled {
    let paging = paging(call.desk, request.predicate)?;
    let map = call.bounded(map);
    call.answering().follow_all(map.page(&paging), |page| m::PagedItems {
        anchors: anchors(&page),
        values: page.entries.into_iter().map(|(key, _)| key).collect(),
    })
}

pub(in crate::hazelcast) fn values_with_paging_predicate(
    map: &Map,
    mut call: Call<'_, m::ValuesWithPagingPredicate>,
    request: m::ValuesWithPagingPredicate,
) -> Handled {
    let paging = paging(call.desk, request.predicate)?;
    let map = call.bounded(map);
    call.answering().follow_all(map.page(&paging), |page| m::PagedItems {
        anchors: anchors(&page),
        values: page.entries.into_iter().map(|(_, value)| value).collect(),
    })
}

pub(in crate::hazelcast) fn entries_with_paging_predicate(
    map: &Map,
    mut call: Call<'_, m::EntriesWithPagingPredicate>,
    request: m::EntriesWithPagingPredicate,
) -> Handled {
    let paging = paging(call.desk, request.predicate)?;
    let map = call.bounded(map);
    call.answering().follow_all(map.page(&paging), |page| m::PagedPairs {
        anchors: anchors(&page),
        entries: page.entries,
    })
}

pub(in crate::hazelcast) fn aggregate(
    map: &Map,
    call: Call<'_, m::Aggregate>,
    request: m::Aggregate,
) -> Handled {
    let aggregator = Aggregator::from_data(&request.aggregator, call.desk.host.grid.catalog())?;
    call.answering().follow_all(map.aggregate(&aggregator, None), found_one)
}

pub(in crate::hazelcast) fn aggregate_with_predicate(
    map: &Map,
    call: Call<'_, m::AggregateWithPredicate>,
    request: m::AggregateWithPredicate,
) -> Handled {
    let aggregator = Aggregator::from_data(&request.aggregator, call.desk.host.grid.catalog())?;
    let predicate = predicate(call.desk, &request.predicate)?;
    call.answering().follow_all(map.aggregate(&aggregator, Some(&predicate)), found_one)
}

pub(in crate::hazelcast) fn project(
    map: &Map,
    mut call: Call<'_, m::Project>,
    request: m::Project,
) -> Handled {
    let projection = Projection::from_data(&request.projection, call.desk.host.grid.catalog())?;
    let map = call.bounded(map);
    call.answering().follow_all(map.project(&projection, None), projected)
}

pub(in crate::hazelcast) fn project_with_predicate(
    map: &Map,
    mut call: Call<'_, m::ProjectWithPredicate>,
    request: m::ProjectWithPredicate,
) -> Handled {
    let projection = Projection::from_data(&request.projection, call.desk.host.grid.catalog())?;
    let predicate = predicate(call.desk, &request.predicate)?;
    let map = call.bounded(map);
    call.answering().follow_all(map.project(&projection, Some(&predicate)), projected)
}

pub(in crate::hazelcast) fn add_index(
    map: &Map,
    call: Call<'_, m::AddIndex>,
    request: m::AddIndex,
) -> Handled {
    let config = request.index_config;
    let kind = IndexKind::of_number(config.kind)?;
    let mut settings = IndexSettings::new(map.name(), kind, config.name.as_deref(), &config.attributes)?;
    // Java's client sends options with every index.
    if let Some(options) = config.bitmap_options.filter(|_| kind == IndexKind::Bitmap) {
        settings = settings.with_bitmap_options(BitmapOptions {
            unique_key: options.unique_key.parse()?,
            transformation: UniqueKeyTransformation::of_number(options.unique_key_transformation)?,
        })?;
    }
    call.answering().follow_all(map.add_index(settings), done)
}
