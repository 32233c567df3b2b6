// Package pgx tests the PostgreSQL door at FILBERT_POSTGRES (host:port; `with_door.py` starts one and sets it) with Go's pgx.
package pgx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// within bounds a test, so that one that hangs has a name.
const within = 2 * time.Minute

func url() string {
	return "postgres://ann@" + os.Getenv("FILBERT_POSTGRES") + "/filbert?sslmode=disable"
}

func TestMain(m *testing.M) {
	if os.Getenv("FILBERT_POSTGRES") == "" {
		fmt.Println("FILBERT_POSTGRES does not say where the PostgreSQL door of a member is")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// open gives a connection that is closed after the test.
func open(t *testing.T) (*pgx.Conn, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancel)
	connection, err := pgx.Connect(ctx, url())
	ok(t, err)
	t.Cleanup(func() { connection.Close(context.Background()) })
	return connection, ctx
}

// table makes one that is dropped after the test.
func table(t *testing.T, connection *pgx.Conn, columns string) string {
	t.Helper()
	name := fmt.Sprintf("t_%x", time.Now().UnixNano())
	_, err := connection.Exec(context.Background(), "CREATE TABLE "+name+" ("+columns+")")
	ok(t, err)
	t.Cleanup(func() {
		if _, err := connection.Exec(context.Background(), "DROP TABLE "+name); err != nil {
			t.Error(err)
		}
	})
	return name
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, found, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(found, wanted) {
		t.Fatalf("found %#v instead of %#v", found, wanted)
	}
}

// numbers are the first columns of all rows.
func numbers(t *testing.T, connection *pgx.Conn, ctx context.Context, text string, parameters ...any) []int64 {
	t.Helper()
	rows, err := connection.Query(ctx, text, parameters...)
	ok(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	ok(t, err)
	return found
}

// Each way in which pgx sends a statement: prepared and kept, described, told by itself, or as a text with the values in it.
var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
	pgx.QueryExecModeSimpleProtocol,
}

func TestValuesComeBack(t *testing.T) {
	connection, ctx := open(t)
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	moment := time.Date(2024, 2, 29, 12, 0, 0, 500_000_000, time.UTC)
	for _, mode := range modes {
		for range [2]struct{}{} {
			var number int32
			var long int64
			var text string
			var float float64
			var yes bool
			var raw []byte
			var date, at time.Time
			var nothing *int64
			row := connection.QueryRow(ctx,
				"SELECT $1::int, $2::bigint, $3::text, $4::float8, $5::bool, $6::bytea, $7::date, $8::timestamptz, $9::bigint",
				mode, int32(-7), int64(1)<<40, "größer", 1.5, true, []byte{0, 255}, day, moment, nil)
			ok(t, row.Scan(&number, &long, &text, &float, &yes, &raw, &date, &at, &nothing))
			same(t, []any{number, long, text, float, yes}, []any{int32(-7), int64(1) << 40, "größer", 1.5, true})
			same(t, bytes.Equal(raw, []byte{0, 255}), true)
			same(t, date, day)
			same(t, at.Equal(moment), true)
			same(t, nothing == nil, true)
		}
	}
}

func TestDecimalsKeepTheirDigits(t *testing.T) {
	connection, ctx := open(t)
	var found pgtype.Numeric
	ok(t, connection.QueryRow(ctx, "SELECT CAST('12.340' AS DECIMAL(10, 3))").Scan(&found))
	same(t, [2]any{found.Int.Cmp(big.NewInt(12_340)), found.Exp}, [2]any{0, int32(-3)})
	wanted := pgtype.Numeric{Int: big.NewInt(-12_345), Exp: -2, Valid: true}
	var text string
	ok(t, connection.QueryRow(ctx, "SELECT CAST(CAST($1 AS DECIMAL(10, 2)) AS text)", wanted).Scan(&text))
	same(t, text, "-123.45")
}

func TestArraysGoBothWays(t *testing.T) {
	connection, ctx := open(t)
	var found []*int64
	var words []string
	one, three := int64(1), int64(3)
	row := connection.QueryRow(ctx, "SELECT $1::bigint[], ARRAY['a', 'b c']", []*int64{&one, nil, &three})
	ok(t, row.Scan(&found, &words))
	same(t, found, []*int64{&one, nil, &three})
	same(t, words, []string{"a", "b c"})
}

func TestPagingAndListsOfIdsNeedNoCasts(t *testing.T) {
	connection, ctx := open(t)
	text := "SELECT v::bigint AS v FROM generate_series(1, 9) AS t(v)"
	for _, mode := range modes[:3] {
		same(t, numbers(t, connection, ctx, text+" ORDER BY v LIMIT $1 OFFSET $2", mode, 2, 3), []int64{4, 5})
		same(t, numbers(t, connection, ctx, text+" WHERE v = ANY($1) ORDER BY v", mode, []int32{2, 7, 11}), []int64{2, 7})
	}
}

func TestRowsAreCopiedIn(t *testing.T) {
	connection, ctx := open(t)
	name := table(t, connection, "id bigint, name text, born date, price float8")
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	rows := pgx.CopyFromSlice(20_000, func(at int) ([]any, error) {
		if at == 7 {
			return []any{int64(at), nil, nil, nil}, nil
		}
		return []any{int64(at), fmt.Sprintf("name\t%d", at), day, 1.5}, nil
	})
	count, err := connection.CopyFrom(ctx, pgx.Identifier{name}, []string{"id", "name", "born", "price"}, rows)
	ok(t, err)
	same(t, count, int64(20_000))
	same(t, numbers(t, connection, ctx, "SELECT count(*) FROM "+name+" WHERE born = $1 AND price = 1.5", day), []int64{19_999})
	same(t, numbers(t, connection, ctx, "SELECT id FROM "+name+" WHERE name IS NULL"), []int64{7})
	same(t, numbers(t, connection, ctx, "SELECT id FROM "+name+" WHERE name = $1", "name\t19999"), []int64{19_999})
	var out bytes.Buffer
	said, err := connection.PgConn().CopyTo(ctx, &out, "COPY (SELECT id, name FROM "+name+" WHERE id < 2 ORDER BY id) TO STDOUT (FORMAT csv)")
	ok(t, err)
	same(t, said.RowsAffected(), int64(2))
	same(t, out.String(), "0,name\t0\n1,name\t1\n")
}

func TestABatchIsAnsweredInOrder(t *testing.T) {
	connection, ctx := open(t)
	name := table(t, connection, "id bigint, name text")
	batch := &pgx.Batch{}
	for at := 0; at < 50; at++ {
		batch.Queue("INSERT INTO "+name+" VALUES ($1, $2)", at, fmt.Sprint(at))
	}
	batch.Queue("SELECT count(*) FROM " + name)
	for at := 0; at < 10; at++ {
		batch.Queue("SELECT name FROM "+name+" WHERE id = $1", at)
	}
	answers := connection.SendBatch(ctx, batch)
	for at := 0; at < 50; at++ {
		said, err := answers.Exec()
		ok(t, err)
		same(t, said.String(), "INSERT 0 1")
	}
	var count int64
	ok(t, answers.QueryRow().Scan(&count))
	same(t, count, int64(50))
	for at := 0; at < 10; at++ {
		var text string
		ok(t, answers.QueryRow().Scan(&text))
		same(t, text, fmt.Sprint(at))
	}
	ok(t, answers.Close())
}

func TestAnErrorInABatchEndsItAndKeepsTheConnection(t *testing.T) {
	connection, ctx := open(t)
	batch := &pgx.Batch{}
	batch.Queue("SELECT 1 / $1::int", 0)
	batch.Queue("SELECT 2")
	err := connection.SendBatch(ctx, batch).Close()
	same(t, code(err), "22012")
	same(t, numbers(t, connection, ctx, "SELECT 3::bigint"), []int64{3})
}

func TestTheEndOfAContextEndsAQuery(t *testing.T) {
	connection, ctx := open(t)
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_, err := connection.Exec(short, "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b")
	same(t, errors.Is(err, context.DeadlineExceeded), true)
	// The driver asks the member to cancel, gives the connection up, and says when both are done.
	same(t, connection.IsClosed(), true)
	select {
	case <-connection.PgConn().CleanupDone():
	case <-ctx.Done():
		t.Fatal("the connection is not given up")
	}
	other, _ := open(t)
	same(t, numbers(t, other, ctx, "SELECT 1::bigint"), []int64{1})
}

func TestAQueryIsCancelled(t *testing.T) {
	connection, ctx := open(t)
	done := make(chan struct{})
	var asking sync.WaitGroup
	asking.Add(1)
	go func() {
		defer asking.Done()
		// Again and again: on a busy machine the query may not run yet, and a request that finds nothing to cancel is lost.
		for {
			select {
			case <-done:
				return
			case <-time.After(300 * time.Millisecond):
				_ = connection.PgConn().CancelRequest(ctx)
			}
		}
	}()
	_, err := connection.Exec(ctx, "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b")
	close(done)
	asking.Wait()
	same(t, code(err), "57014")
}

func TestManyRowsStream(t *testing.T) {
	connection, ctx := open(t)
	rows, err := connection.Query(ctx, "SELECT v::bigint, 'n' || v FROM generate_series(1, 50000) AS t(v)")
	ok(t, err)
	var number, sum int64
	var text string
	_, err = pgx.ForEachRow(rows, []any{&number, &text}, func() error {
		if text != fmt.Sprintf("n%d", number) {
			return fmt.Errorf("%q beside %d", text, number)
		}
		sum += number
		return nil
	})
	ok(t, err)
	same(t, sum, int64(50_000)*50_001/2)
}

func TestStatementsOfAPoolRunBesideEachOther(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	pool, err := pgxpool.New(ctx, url()+"&pool_max_conns=10")
	ok(t, err)
	defer pool.Close()
	found := make([]int32, 50)
	failed := make([]error, 50)
	var all sync.WaitGroup
	for at := range found {
		all.Add(1)
		go func(at int) {
			defer all.Done()
			failed[at] = pool.QueryRow(ctx, "SELECT $1::int + 1", at).Scan(&found[at])
		}(at)
	}
	all.Wait()
	for at, number := range found {
		ok(t, failed[at])
		same(t, number, int32(at+1))
	}
}

func TestErrorsHaveTheirCodes(t *testing.T) {
	connection, ctx := open(t)
	for text, wanted := range map[string]string{
		"SELEC 1":                      "42601",
		"SELECT * FROM nowhere":        "42P01",
		"SELECT 1 / 0":                 "22012",
		"SELECT CAST('x' AS INT)":      "22P02",
		"SELECT nothing FROM pg_class": "42703",
	} {
		_, err := connection.Exec(ctx, text)
		same(t, [2]string{text, code(err)}, [2]string{text, wanted})
	}
	same(t, numbers(t, connection, ctx, "SELECT 1::bigint"), []int64{1})
}

func code(err error) string {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return said.Code
	}
	return fmt.Sprintf("no code: %v", err)
}
