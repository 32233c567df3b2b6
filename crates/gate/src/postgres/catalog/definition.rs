//! Which tables of the catalog there are, and their columns: those that tools ask for.

use crate::tables::INFORMATION;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// A table of the catalog.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::postgres) struct Definition {
    pub(super) name: &'static str,
    /// Each `name:type`, where the type is one letter, see [`column`].
    columns: &'static str,
    /// True when it has rows at times.
    pub(in crate::postgres) has_rows: bool,
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
         attstorage:t attcompression:t attalign:t attnotnull:b atthasdef:b atthasmissing:b attidentity:t attgenerated:t attisdropped:b \
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
        "pg_authid",
        "oid:o rolname:t rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b",
    ),
    filled(
        "pg_settings",
        "name:t setting:t unit:t category:t short_desc:t extra_desc:t context:t vartype:t source:t min_val:t max_val:t \
         enumvals:a boot_val:t reset_val:t sourcefile:t sourceline:i pending_restart:b",
    ),
    filled(
        "pg_tables",
        "schemaname:t tablename:t tableowner:t tablespace:t hasindexes:b hasrules:b hastriggers:b rowsecurity:b",
    ),
    filled("pg_views", "schemaname:t viewname:t viewowner:t definition:t"),
    empty("pg_aggregate", "aggfnoid:o aggkind:t"),
    empty("pg_attrdef", "oid:o adrelid:o adnum:s adbin:t"),
    empty("pg_auth_members", "roleid:o member:o grantor:o admin_option:b"),
    empty("pg_available_extensions", "name:t default_version:t installed_version:t comment:t"),
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
    empty(
        "pg_conversion",
        "oid:o conname:t connamespace:o conowner:o conforencoding:i contoencoding:i condefault:b",
    ),
    empty("pg_db_role_setting", "setdatabase:o setrole:o setconfig:a"),
    empty("pg_default_acl", "oid:o defaclrole:o defaclnamespace:o defaclobjtype:t defaclacl:a"),
    empty("pg_depend", "classid:o objid:o objsubid:i refclassid:o refobjid:o refobjsubid:i deptype:t"),
    empty("pg_description", "objoid:o classoid:o objsubid:i description:t"),
    empty("pg_enum", "oid:o enumtypid:o enumsortorder:f enumlabel:t"),
    empty("pg_event_trigger", "oid:o evtname:t evtevent:t evtowner:o evtfoid:o evtenabled:t evttags:a"),
    empty(
        "pg_extension",
        "oid:o extname:t extowner:o extnamespace:o extrelocatable:b extversion:t extconfig:a",
    ),
    empty("pg_foreign_data_wrapper", "oid:o fdwname:t fdwowner:o fdwhandler:o fdwvalidator:o fdwoptions:a"),
    empty("pg_foreign_server", "oid:o srvname:t srvowner:o srvfdw:o srvtype:t srvversion:t srvoptions:a"),
    empty("pg_foreign_table", "ftrelid:o ftserver:o ftoptions:a"),
    empty(
        "pg_index",
        "indexrelid:o indrelid:o indnatts:s indnkeyatts:s indisunique:b indisprimary:b indisexclusion:b indimmediate:b \
         indisclustered:b indisvalid:b indisready:b indislive:b indisreplident:b indnullsnotdistinct:b indkey:a indcollation:a \
         indclass:a indoption:a indexprs:t indpred:t",
    ),
    empty("pg_indexes", "schemaname:t tablename:t indexname:t tablespace:t indexdef:t"),
    empty("pg_inherits", "inhrelid:o inhparent:o inhseqno:i inhdetachpending:b"),
    empty("pg_language", "oid:o lanname:t lanowner:o lanispl:b lanpltrusted:b"),
    empty("pg_matviews", "schemaname:t matviewname:t matviewowner:t definition:t"),
    empty(
        "pg_opclass",
        "oid:o opcmethod:o opcname:t opcnamespace:o opcowner:o opcfamily:o opcintype:o opcdefault:b",
    ),
    empty(
        "pg_operator",
        "oid:o oprname:t oprnamespace:o oprowner:o oprkind:t oprleft:o oprright:o oprresult:o",
    ),
    empty("pg_partitioned_table", "partrelid:o partstrat:t partnatts:s partdefid:o"),
    empty(
        "pg_policy",
        "oid:o polname:t polrelid:o polcmd:t polpermissive:b polroles:t polqual:t polwithcheck:t",
    ),
    filled(
        "pg_proc",
        "oid:o proname:t pronamespace:o proowner:o prolang:o prokind:t prosrc:t proretset:b prorettype:o proargtypes:t \
         pronargs:s provolatile:t proargdefaults:t proargnames:a proargmodes:a proallargtypes:a proisstrict:b prosecdef:b \
         proleakproof:b procost:f prorows:f proparallel:t provariadic:o prosupport:o proconfig:a proacl:a probin:t",
    ),
    empty("pg_publication", "oid:o pubname:t pubowner:o puballtables:b"),
    empty("pg_publication_namespace", "oid:o pnpubid:o pnnspid:o"),
    empty("pg_publication_rel", "oid:o prpubid:o prrelid:o prqual:t prattrs:a"),
    empty("pg_range", "rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o"),
    empty("pg_rewrite", "oid:o rulename:t ev_class:o ev_type:t ev_enabled:t is_instead:b"),
    empty("pg_sequence", "seqrelid:o seqtypid:o"),
    empty("pg_sequences", "schemaname:t sequencename:t sequenceowner:t data_type:t"),
    empty("pg_shdepend", "dbid:o classid:o objid:o objsubid:i refclassid:o refobjid:o deptype:t"),
    empty("pg_shdescription", "objoid:o classoid:o description:t"),
    empty("pg_stat_activity", "datid:o datname:t pid:i usename:t application_name:t state:t query:t"),
    empty("pg_stat_user_tables", "relid:o schemaname:t relname:t"),
    empty("pg_statistic_ext", "oid:o stxrelid:o stxname:t stxnamespace:o stxkind:a stxstattarget:i"),
    filled("pg_tablespace", "oid:o spcname:t spcowner:o spcacl:a spcoptions:a"),
    empty(
        "pg_trigger",
        "oid:o tgrelid:o tgname:t tgfoid:o tgenabled:t tgisinternal:b tgconstraint:o tgparentid:o",
    ),
];

/// Those of `information_schema`, as PostgreSQL has them; the engine's own shows other types, and everything to everybody.
pub(super) const INFORMATION_TABLES: &[Definition] = &[
    filled(
        "schemata",
        "catalog_name:t schema_name:t schema_owner:t default_character_set_catalog:t default_character_set_schema:t \
         default_character_set_name:t sql_path:t",
    ),
    filled(
        "tables",
        "table_catalog:t table_schema:t table_name:t table_type:t self_referencing_column_name:t reference_generation:t \
         user_defined_type_catalog:t user_defined_type_schema:t user_defined_type_name:t is_insertable_into:t is_typed:t \
         commit_action:t",
    ),
    filled(
        "columns",
        "table_catalog:t table_schema:t table_name:t column_name:t ordinal_position:i column_default:t is_nullable:t \
         data_type:t character_maximum_length:i character_octet_length:i numeric_precision:i numeric_precision_radix:i \
         numeric_scale:i datetime_precision:i interval_type:t interval_precision:i character_set_catalog:t \
         character_set_schema:t character_set_name:t collation_catalog:t collation_schema:t collation_name:t domain_catalog:t \
         domain_schema:t domain_name:t udt_catalog:t udt_schema:t udt_name:t scope_catalog:t scope_schema:t scope_name:t \
         maximum_cardinality:i dtd_identifier:t is_self_referencing:t is_identity:t identity_generation:t identity_start:t \
         identity_increment:t identity_maximum:t identity_minimum:t identity_cycle:t is_generated:t generation_expression:t \
         is_updatable:t",
    ),
    filled(
        "views",
        "table_catalog:t table_schema:t table_name:t view_definition:t check_option:t is_updatable:t is_insertable_into:t \
         is_trigger_updatable:t is_trigger_deletable:t is_trigger_insertable_into:t",
    ),
    filled("enabled_roles", "role_name:t is_grantable:t"),
    empty("applicable_roles", "grantee:t role_name:t is_grantable:t"),
    empty("check_constraints", "constraint_catalog:t constraint_schema:t constraint_name:t check_clause:t"),
    empty(
        "column_privileges",
        "grantor:t grantee:t table_catalog:t table_schema:t table_name:t column_name:t privilege_type:t",
    ),
    empty(
        "constraint_column_usage",
        "table_catalog:t table_schema:t table_name:t column_name:t constraint_catalog:t constraint_schema:t constraint_name:t",
    ),
    empty(
        "constraint_table_usage",
        "table_catalog:t table_schema:t table_name:t constraint_catalog:t constraint_schema:t constraint_name:t",
    ),
    empty("domains", "domain_catalog:t domain_schema:t domain_name:t data_type:t domain_default:t"),
    empty(
        "key_column_usage",
        "constraint_catalog:t constraint_schema:t constraint_name:t table_catalog:t table_schema:t table_name:t column_name:t \
         ordinal_position:i position_in_unique_constraint:i",
    ),
    empty(
        "parameters",
        "specific_catalog:t specific_schema:t specific_name:t ordinal_position:i parameter_mode:t parameter_name:t data_type:t",
    ),
    empty(
        "referential_constraints",
        "constraint_catalog:t constraint_schema:t constraint_name:t unique_constraint_catalog:t unique_constraint_schema:t \
         unique_constraint_name:t match_option:t update_rule:t delete_rule:t",
    ),
    empty(
        "role_table_grants",
        "grantor:t grantee:t table_catalog:t table_schema:t table_name:t privilege_type:t is_grantable:t",
    ),
    empty(
        "routine_privileges",
        "grantor:t grantee:t specific_catalog:t specific_schema:t specific_name:t privilege_type:t",
    ),
    empty(
        "routines",
        "specific_catalog:t specific_schema:t specific_name:t routine_catalog:t routine_schema:t routine_name:t routine_type:t \
         data_type:t routine_definition:t",
    ),
    empty(
        "sequences",
        "sequence_catalog:t sequence_schema:t sequence_name:t data_type:t start_value:t increment:t",
    ),
    empty(
        "table_constraints",
        "constraint_catalog:t constraint_schema:t constraint_name:t table_catalog:t table_schema:t table_name:t \
         constraint_type:t is_deferrable:t initially_deferred:t enforced:t",
    ),
    empty(
        "table_privileges",
        "grantor:t grantee:t table_catalog:t table_schema:t table_name:t privilege_type:t is_grantable:t",
    ),
    empty(
        "triggers",
        "trigger_catalog:t trigger_schema:t trigger_name:t event_manipulation:t event_object_catalog:t event_object_schema:t \
         event_object_table:t action_statement:t action_timing:t",
    ),
    empty(
        "user_defined_types",
        "user_defined_type_catalog:t user_defined_type_schema:t user_defined_type_name:t",
    ),
    empty(
        "view_table_usage",
        "view_catalog:t view_schema:t view_name:t table_catalog:t table_schema:t table_name:t",
    ),
];

/// A schema whose tables are made here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::postgres) enum Shelf {
    Catalog,
    Information,
}

impl Shelf {
    /// The schema that clients mean by that name.
    pub(in crate::postgres) fn of(schema: &str) -> Option<Self> {
        match schema {
            "pg_catalog" => Some(Self::Catalog),
            "information_schema" => Some(Self::Information),
            _ => None,
        }
    }

    /// What the engine calls it: it has an `information_schema` of its own, which nothing can replace.
    pub(in crate::postgres) fn schema(self) -> &'static str {
        match self {
            Self::Catalog => "pg_catalog",
            Self::Information => INFORMATION,
        }
    }

    pub(super) fn tables(self) -> &'static [Definition] {
        match self {
            Self::Catalog => TABLES,
            Self::Information => INFORMATION_TABLES,
        }
    }

    /// The table of that name.
    pub(in crate::postgres) fn find(self, name: &str) -> Option<&'static Definition> {
        self.tables().iter().find(|table| table.name == name)
    }
}

impl Definition {
    /// The names of its columns, in order.
    pub(in crate::postgres) fn columns(&self) -> impl Iterator<Item = &'static str> {
        let columns: &'static str = self.columns;
        columns.split_whitespace().map(|column| column.split_once(':').map_or(column, |(name, _)| name))
    }

    /// True when it is one of that schema.
    pub(super) fn is_of(&self, shelf: Shelf) -> bool {
        shelf.tables().contains(self)
    }

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
        for shelf in [Shelf::Catalog, Shelf::Information] {
            for table in shelf.tables() {
                assert_eq!(shelf.find(table.name), Some(table));
                let columns: Vec<_> = table.columns().collect();
                assert!(
                    columns.len() >= 2 && columns.len() == table.schema().fields().len(),
                    "{}",
                    table.name
                );
                assert!(
                    table.columns.split_whitespace().all(|column| column.contains(':')),
                    "{}",
                    table.name
                );
            }
        }
        assert!(Shelf::Catalog.find("pg_policy").is_some_and(|table| !table.has_rows));
        assert!(Shelf::Catalog.find("orders").is_none() && Shelf::of("public").is_none());
    }
}
