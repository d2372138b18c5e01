package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoginsAreReadAsJavaReadsThem(t *testing.T) {
	for text, want := range map[string]login{
		`org.x.Plain required username="alice" password="secret";`:       {module: "org.x.Plain", username: "alice", password: "secret"},
		"  org.x.Plain\n\trequired\n username=\"a\"\n password=\"b\" ; ": {module: "org.x.Plain", username: "a", password: "b"},
		`m REQUIRED username=alice password=s3cr3t-x_y$;`:                {module: "m", username: "alice", password: "s3cr3t-x_y$"},
		`m required username='a "b" c' password="it's";`:                 {module: "m", username: `a "b" c`, password: "it's"},
		`m required username="a\"b\\c" password="\t\101\7z\400";`:        {module: "m", username: `a"b\c`, password: "\tA\az 0"},
		`m required username="a" password=";= #//";`:                     {module: "m", username: "a", password: ";= #//"},
		`m required password="" username="ü";`:                           {module: "m", username: "ü"},
		`m required username="id" password="hmac" tokenauth=true;`:       {module: "m", username: "id", password: "hmac", token: true},
		`m optional serviceName="kafka" username="a" password="b";`:      {module: "m", username: "a", password: "b"},
	} {
		got, err := parseJAAS(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestLoginsThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    "the name of a login module is missing",
		`m username="a" password="b";`:        "the login module is not followed by required",
		`m required username="a"`:             "it does not end with a semicolon",
		`m required username "a";`:            "an option has no = after its name",
		`m required username= ;`:              "option username has no value; quote values that hold more than letters and digits",
		`m required password=a/b;`:            "it does not end with a semicolon",
		`m required password="ab;`:            "a quote is not closed",
		"m required password=\"a\nb\";":       "a quote is not closed",
		`m required a="b"; n required c="d";`: "something follows the semicolon: one login module is wanted",
	} {
		_, err := parseJAAS(text)
		require.EqualError(t, err, want, text)
	}
}
