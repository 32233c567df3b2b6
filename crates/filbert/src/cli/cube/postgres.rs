//! A table of a PostgreSQL server, as the command line names it.

/// Where a table is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) url: String,
    /// Its name, or a query.
    pub(super) table: String,
}

/// Reads `postgres://user@host/database?options#table`; nothing when it is something else. A password that the URL does not have is taken
/// from the environment: what stands on a command line can be seen by others.
pub(super) fn place(text: &str, password: Option<&str>) -> Option<Result<Place, String>> {
    let scheme = ["postgres://", "postgresql://"].into_iter().find(|scheme| text.starts_with(scheme))?;
    let told = "write the table after the place: postgres://user@host/database#schema.table, or #SELECT ...";
    let (url, table) = match text.split_once('#') {
        Some((url, table)) if !table.trim().is_empty() => (url, table),
        _ => return Some(Err(told.to_owned())),
    };
    let rest = &url[scheme.len()..];
    // A part of a password must not be shown as the name of a table.
    if !rest.contains('@') && table.contains('@') {
        return Some(Err(
            "a # of the user or the password is the end of the place; write # as %23".to_owned()
        ));
    }
    let server = rest.find(['/', '?']).map_or(rest, |end| &rest[..end]);
    let url = match (server.rsplit_once('@'), password) {
        (Some((user, _)), Some(password)) if !user.contains(':') => {
            let escaped: String = password.bytes().map(|byte| format!("%{byte:02X}")).collect();
            format!("{scheme}{user}:{escaped}{}", &rest[user.len()..])
        }
        // The user is among the options, or the one who runs this.
        (None, Some(password)) if !has_password(rest) => {
            let escaped: String = password.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let mark = if rest.contains('?') { '&' } else { '?' };
            format!("{url}{mark}password={escaped}")
        }
        _ => url.to_owned(),
    };
    Some(Ok(Place { url, table: table.to_owned() }))
}

/// True when an option of the URL is a password.
fn has_password(rest: &str) -> bool {
    let options = rest.split_once('?').map_or("", |(_, options)| options);
    options.split('&').any(|option| option.starts_with("password="))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, password: Option<&str>) -> (String, String) {
        let place = place(text, password).unwrap().unwrap();
        (place.url, place.table)
    }

    #[test]
    fn the_table_stands_behind_the_place() {
        let text = "postgres://me:x@host/db?sslmode=require#SELECT '#'";
        let wanted = ("postgres://me:x@host/db?sslmode=require".to_owned(), "SELECT '#'".to_owned());
        assert_eq!(read(text, Some("unused")), wanted);
        let (url, table) = read("postgresql://me@host:1/db#s.t", Some("a@"));
        assert_eq!((url.as_str(), table.as_str()), ("postgresql://me:%61%40@host:1/db", "s.t"));
        assert_eq!(read("postgres://host/db#t", Some("a@")).0, "postgres://host/db?password=%61%40");
        assert_eq!(
            read("postgres://host/db?user=me#t", Some("a")).0,
            "postgres://host/db?user=me&password=%61"
        );
        assert_eq!(read("postgres://host/db?password=x#t", Some("a")).0, "postgres://host/db?password=x");
        assert_eq!(read("postgres://host/db#t", None).0, "postgres://host/db");
        let told = place("postgres://me:pa#ss@db/m#trades", None).unwrap().unwrap_err();
        assert!(told.contains("%23") && !told.contains("ss@"), "{told}");
        assert!(place("trades.csv", None).is_none());
        assert!(place("postgres://me@host/db", None).unwrap().is_err());
    }
}
