//! Schemas of Compact objects: clients send each before the first object that needs it, and ask for those they do not know.

use super::call::Call;
use super::failure::{Failure, Handled};
use filbert_grid::Invocation;
use filbert_grid::query::Catalog;
use filbert_wire::compact::{FieldDescriptor, FieldKind, Schema, SchemaSource};
use filbert_wire::messages::answers::Done;
use filbert_wire::messages::client::{FetchSchema, SchemaFetched, SchemaSent, SendAllSchemas, SendSchema};
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::structures as wire;

/// One member: a schema that it knows is known everywhere.
pub(super) fn send_schema(call: Call<'_, SendSchema>, request: SendSchema) -> Handled {
    let kept = keep(call.desk.host.grid.catalog(), &request.schema)?;
    let member = call.desk.host.grid.member();
    // On disk before the client may send an object that needs it.
    call.answering().follow(kept, move |()| SchemaSent { replicated_members: vec![member] })
}

pub(super) fn send_all_schemas(call: Call<'_, SendAllSchemas>, request: SendAllSchemas) -> Handled {
    let mut last = Invocation::ready(Ok(()));
    for schema in &request.schemas {
        match keep(call.desk.host.grid.catalog(), schema)?.now() {
            Ok(kept) => kept?,
            // They are written in this order.
            Err(later) => last = later,
        }
    }
    call.answering().follow(last, |()| Done {})
}

pub(super) fn fetch_schema(call: Call<'_, FetchSchema>, request: FetchSchema) -> Handled {
    let known = call.desk.host.grid.catalog().schema(request.schema_id);
    call.now(SchemaFetched { schema: known.map(|schema| to_wire(&schema)) })
}

/// Keeps a schema; done when it is where the entries are that need it.
fn keep(catalog: &Catalog, schema: &wire::Schema) -> Result<Invocation<()>, Failure> {
    let bad = |text: String| Failure::new(ErrorCode::IllegalArgument, text);
    let mut fields = Vec::with_capacity(schema.fields.len());
    for field in &schema.fields {
        let kind = FieldKind::from_code(field.kind).ok_or_else(|| {
            bad(format!(
                "field {:?} of the Compact type {:?} is of kind {}, which is none",
                field.name, schema.type_name, field.kind
            ))
        })?;
        fields.push(FieldDescriptor { name: field.name.to_string(), kind });
    }
    let schema = Schema::new(schema.type_name.to_string(), fields).map_err(|error| bad(error.to_string()))?;
    Ok(catalog.define_schema(schema.into()))
}

fn to_wire(schema: &Schema) -> wire::Schema {
    let field = |field: &FieldDescriptor| wire::FieldDescriptor {
        name: field.name.as_str().into(),
        kind: field.kind.code(),
    };
    wire::Schema { type_name: schema.type_name().into(), fields: schema.fields().iter().map(field).collect() }
}
