//! Which tables the catalog has, and their columns: those that tools ask for.

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// A table of the catalog.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: &'static str,
    /// Each `name:type`, where the type is one letter, see [`column`].
    columns: &'static str,
    /// True when it has rows at times.
    pub(super) has_rows: bool,
}

const fn filled(name: &'static str, columns: &'static str) -> Definition {
    Definition { name, columns, has_rows: true }
}

const fn empty(name: &'static str, columns: &'static str) -> Definition {
    Definition { name, columns, has_rows: false }
}

/// The types: o oid, t text, i int4, s int2, b bool, f float4, a text[].
pub(super) const TABLES: &[Definition] = &[
    filled("pg_namespace", "oid:o nspname:t nspowner:o nspacl:a"),
    filled(
        "pg_class",
        "oid:o relname:t relnamespace:o reltype:o reloftype:o relowner:o relam:o relfilenode:o reltablespace:o relpages:i \
         reltuples:f relallvisible:i reltoastrelid:o relhasindex:b relisshared:b relpersistence:t relkind:t relnatts:s \
         relchecks:s relhasrules:b relhastriggers:b relhassubclass:b relrowsecurity:b relforcerowsecurity:b relispopulated:b \
         relreplident:t relispartition:b relrewrite:o relacl:a reloptions:a relpartbound:t",
    ),
    filled(
        "pg_attribute",
        "attrelid:o attname:t atttypid:o attstattarget:i attlen:s attnum:s attndims:i attcacheoff:i atttypmod:i attbyval:b \
         attstorage:t attalign:t attnotnull:b atthasdef:b atthasmissing:b attidentity:t attgenerated:t attisdropped:b \
         attislocal:b attinhcount:i attcollation:o attacl:a attoptions:a attfdwoptions:a",
    ),
    filled(
        "pg_type",
        "oid:o typname:t typnamespace:o typowner:o typlen:s typbyval:b typtype:t typcategory:t typispreferred:b typisdefined:b \
         typdelim:t typrelid:o typelem:o typarray:o typinput:t typoutput:t typreceive:t typsend:t typbasetype:o typtypmod:i \
         typndims:i typcollation:o typnotnull:b typdefault:t typacl:a",
    ),
    filled(
        "pg_database",
        "oid:o datname:t datdba:o encoding:i datlocprovider:t datistemplate:b datallowconn:b datconnlimit:i datlastsysoid:o \
         dattablespace:o datcollate:t datctype:t daticulocale:t datcollversion:t datacl:a",
    ),
    filled(
        "pg_roles",
        "oid:o rolname:t rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b rolreplication:b rolconnlimit:i \
         rolvaliduntil:t rolbypassrls:b rolconfig:a rolpassword:t",
    ),
    filled(
        "pg_user",
        "usename:t usesysid:o usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd:t valuntil:t useconfig:a",
    ),
    filled("pg_am", "oid:o amname:t amhandler:t amtype:t"),
    filled(
        "pg_tables",
        "schemaname:t tablename:t tableowner:t tablespace:t hasindexes:b hasrules:b hastriggers:b rowsecurity:b",
    ),
    filled("pg_views", "schemaname:t viewname:t viewowner:t definition:t"),
    empty("pg_aggregate", "aggfnoid:o aggkind:t"),
    empty("pg_attrdef", "oid:o adrelid:o adnum:s adbin:t"),
    empty("pg_auth_members", "roleid:o member:o grantor:o admin_option:b"),
    empty("pg_cast", "oid:o castsource:o casttarget:o castfunc:o castcontext:t castmethod:t"),
    empty(
        "pg_collation",
        "oid:o collname:t collnamespace:o collowner:o collprovider:t collencoding:i collcollate:t collctype:t",
    ),
    empty(
        "pg_constraint",
        "oid:o conname:t connamespace:o contype:t condeferrable:b condeferred:b convalidated:b conrelid:o contypid:o conindid:o \
         conparentid:o confrelid:o confupdtype:t confdeltype:t confmatchtype:t conkey:a confkey:a conbin:t",
    ),
    empty("pg_depend", "classid:o objid:o objsubid:i refclassid:o refobjid:o refobjsubid:i deptype:t"),
    empty("pg_description", "objoid:o classoid:o objsubid:i description:t"),
    empty("pg_enum", "oid:o enumtypid:o enumsortorder:f enumlabel:t"),
    empty("pg_event_trigger", "oid:o evtname:t evtevent:t evtowner:o evtfoid:o evtenabled:t evttags:a"),
    empty("pg_extension", "oid:o extname:t extowner:o extnamespace:o extrelocatable:b extversion:t"),
    empty("pg_foreign_data_wrapper", "oid:o fdwname:t fdwowner:o fdwhandler:o fdwvalidator:o fdwoptions:a"),
    empty("pg_foreign_server", "oid:o srvname:t srvowner:o srvfdw:o srvtype:t srvversion:t srvoptions:a"),
    empty("pg_foreign_table", "ftrelid:o ftserver:o ftoptions:a"),
    empty(
        "pg_index",
        "indexrelid:o indrelid:o indnatts:s indnkeyatts:s indisunique:b indisprimary:b indisexclusion:b indimmediate:b \
         indisclustered:b indisvalid:b indisready:b indislive:b indisreplident:b indkey:a indoption:a indexprs:t indpred:t",
    ),
    empty("pg_inherits", "inhrelid:o inhparent:o inhseqno:i inhdetachpending:b"),
    empty("pg_language", "oid:o lanname:t lanowner:o lanispl:b lanpltrusted:b"),
    empty("pg_matviews", "schemaname:t matviewname:t matviewowner:t definition:t"),
    empty(
        "pg_operator",
        "oid:o oprname:t oprnamespace:o oprowner:o oprkind:t oprleft:o oprright:o oprresult:o",
    ),
    empty("pg_partitioned_table", "partrelid:o partstrat:t partnatts:s partdefid:o"),
    empty(
        "pg_policy",
        "oid:o polname:t polrelid:o polcmd:t polpermissive:b polroles:t polqual:t polwithcheck:t",
    ),
    empty(
        "pg_proc",
        "oid:o proname:t pronamespace:o proowner:o prolang:o prokind:t prosrc:t proretset:b prorettype:o proargtypes:t \
         pronargs:s provolatile:t",
    ),
    empty("pg_publication", "oid:o pubname:t pubowner:o puballtables:b"),
    empty("pg_publication_namespace", "oid:o pnpubid:o pnnspid:o"),
    empty("pg_publication_rel", "oid:o prpubid:o prrelid:o prqual:t prattrs:a"),
    empty("pg_range", "rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o"),
    empty("pg_rewrite", "oid:o rulename:t ev_class:o ev_type:t ev_enabled:t is_instead:b"),
    empty("pg_sequence", "seqrelid:o seqtypid:o"),
    empty("pg_shdescription", "objoid:o classoid:o description:t"),
    empty("pg_stat_activity", "datid:o datname:t pid:i usename:t application_name:t state:t query:t"),
    empty("pg_stat_user_tables", "relid:o schemaname:t relname:t"),
    empty("pg_statistic_ext", "oid:o stxrelid:o stxname:t stxnamespace:o stxkind:a stxstattarget:i"),
    empty("pg_tablespace", "oid:o spcname:t spcowner:o spcacl:a spcoptions:a"),
    empty(
        "pg_trigger",
        "oid:o tgrelid:o tgname:t tgfoid:o tgenabled:t tgisinternal:b tgconstraint:o tgparentid:o",
    ),
];

/// The table of that name.
pub(super) fn find(name: &str) -> Option<&'static Definition> {
    TABLES.iter().find(|table| table.name == name)
}

/// True when there is such a table.
pub(in crate::postgres) fn is_catalog_table(name: &str) -> bool {
    find(name).is_some()
}

/// True when there is such a table, and it never has rows.
pub(in crate::postgres) fn is_always_empty(name: &str) -> bool {
    find(name).is_some_and(|table| !table.has_rows)
}

impl Definition {
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.columns.split_whitespace().map(column).collect::<Vec<_>>()))
    }
}

/// The name under which a column that holds oids says so.
pub(in crate::postgres) const OID_EXTENSION: &str = "postgres.oid";

fn column(definition: &str) -> Field {
    let (name, letter) = definition.split_once(':').unwrap_or((definition, "t"));
    let data_type = match letter {
        "o" | "i" => DataType::Int32,
        "s" => DataType::Int16,
        "b" => DataType::Boolean,
        "f" => DataType::Float32,
        "a" => DataType::new_list(DataType::Utf8, true),
        _ => DataType::Utf8,
    };
    let field = Field::new(name, data_type, true);
    match letter {
        "o" => field.with_metadata([("ARROW:extension:name".to_owned(), OID_EXTENSION.to_owned())].into()),
        _ => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_and_have_columns() {
        for table in TABLES {
            assert!(is_catalog_table(table.name));
            assert!(table.schema().fields().len() >= 2, "{}", table.name);
            assert!(table.columns.split_whitespace().all(|column| column.contains(':')), "{}", table.name);
        }
        assert!(is_always_empty("pg_policy") && !is_always_empty("pg_class") && !is_always_empty("orders"));
    }
}
