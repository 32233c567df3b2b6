//! tokio-postgres against the PostgreSQL door of a member: simple, prepared, binary values both ways, portals, cancel, errors.
//!
//! `FILBERT_POSTGRES=host:port cargo run` names the door; every line that is printed is something that works.
#![forbid(unsafe_code)]

use futures_util::TryStreamExt;
use std::error::Error;
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

async fn connect(address: &str) -> Result<Client, Box<dyn Error>> {
    let (host, port) = address.rsplit_once(':').ok_or("FILBERT_POSTGRES must be host:port")?;
    let mut config = Config::new();
    config
        .host(host)
        .port(port.parse()?)
        .user("ann")
        .dbname("filbert")
        .connect_timeout(Duration::from_secs(30));
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let Ok(address) = std::env::var("FILBERT_POSTGRES") else {
        return Err("FILBERT_POSTGRES does not say where the PostgreSQL door of a member is".into());
    };
    let client = connect(&address).await?;

    let said = client.simple_query("SELECT 1 AS a; SELECT 'x' AS b").await?;
    let rows: Vec<_> = said
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })
        .collect();
    assert_eq!(rows, ["1", "x"]);
    println!("simple queries");

    let statement = client.prepare("SELECT value FROM generate_series(1, 1000) WHERE value > $1").await?;
    assert_eq!(statement.params(), [Type::INT8]);
    assert_eq!(statement.columns()[0].type_(), &Type::INT8);
    let rows = client.query(&statement, &[&990_i64]).await?;
    assert_eq!(
        rows.iter().map(|row| row.get::<_, i64>(0)).collect::<Vec<_>>(),
        (991..=1000).collect::<Vec<_>>()
    );
    println!("prepared statements");

    let typed = client
        .prepare_typed(
            "SELECT $1 AS a, $2 AS b, $3 AS c, $4 AS d, $5 AS e",
            &[Type::BOOL, Type::INT4, Type::FLOAT8, Type::TEXT, Type::BYTEA],
        )
        .await?;
    let row = client.query_one(&typed, &[&true, &-7_i32, &2.5_f64, &"größer", &&b"\x00\xff"[..]]).await?;
    assert_eq!((row.get::<_, bool>(0), row.get::<_, i32>(1), row.get::<_, f64>(2)), (true, -7, 2.5));
    assert_eq!((row.get::<_, &str>(3), row.get::<_, &[u8]>(4)), ("größer", &b"\x00\xff"[..]));
    let row = client
        .query_one(&typed, &[&None::<bool>, &1_i32, &None::<f64>, &None::<&str>, &None::<&[u8]>])
        .await?;
    assert_eq!((row.get::<_, Option<bool>>(0), row.get::<_, Option<&str>>(3)), (None, None));
    println!("binary values");

    let row = client.query_one("SELECT [1, 2, NULL] AS a", &[]).await?;
    assert_eq!(row.get::<_, Vec<Option<i64>>>(0), [Some(1), Some(2), None]);
    println!("arrays");

    let mut other = connect(&address).await?;
    let transaction = other.transaction().await?;
    let portal = transaction.bind("SELECT value FROM generate_series(1, 10)", &[]).await?;
    assert_eq!(transaction.query_portal(&portal, 4).await?.len(), 4);
    assert_eq!(transaction.query_portal(&portal, 100).await?.len(), 6);
    transaction.commit().await?;
    println!("portals");

    let numbers: Vec<i64> = client
        .query_raw("SELECT value FROM generate_series(1, 50000)", Vec::<i64>::new())
        .await?
        .map_ok(|row| row.get::<_, i64>(0))
        .try_collect()
        .await?;
    assert_eq!(numbers.len(), 50_000);
    println!("many rows");

    let failed = client.query("SELECT * FROM nowhere", &[]).await.unwrap_err();
    assert_eq!(failed.code(), Some(&SqlState::UNDEFINED_TABLE));
    let failed = client.simple_query("SELECT 1 / 0").await.unwrap_err();
    assert_eq!(failed.code(), Some(&SqlState::DIVISION_BY_ZERO));
    assert_eq!(client.query_one("SELECT 1::bigint AS a", &[]).await?.get::<_, i64>(0), 1);
    println!("errors keep the connection");

    let token = client.cancel_token();
    let long = client
        .simple_query("SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b");
    let cancel = async {
        loop {
            // sleeps because the query must be under way before it is cancelled; again and again, for a request that finds none is lost
            tokio::time::sleep(Duration::from_millis(300)).await;
            if let Err(error) = token.cancel_query(NoTls).await {
                return error;
            }
        }
    };
    let ended = tokio::select! {
        ended = long => ended,
        refused = cancel => return Err(refused.into()),
    };
    assert_eq!(ended.unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
    println!("cancel");
    Ok(())
}
