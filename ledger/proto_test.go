package ledger

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

const protoFile = "../docs/event.proto"

var (
	protoBlock = regexp.MustCompile(`^(message|enum) (\w+) \{$`)
	protoField = regexp.MustCompile(`^(?:(repeated|optional) )?(\w+) (\w+) = (\d+);$`)
	protoValue = regexp.MustCompile(`^(\w+) = (\d+);$`)
)

// parseProto turns the text of docs/event.proto, which uses a small part of the language, into
// what protoc would make of it.
func parseProto(t testing.TB) protoreflect.FileDescriptor {
	text, err := os.ReadFile(protoFile)
	require.NoError(t, err)
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("event.proto"), Syntax: proto.String("proto3"), Package: proto.String("offsetledger.v1")}
	var message *descriptorpb.DescriptorProto
	var enum *descriptorpb.EnumDescriptorProto
	for n, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		block, field, value := protoBlock.FindStringSubmatch(line), protoField.FindStringSubmatch(line), protoValue.FindStringSubmatch(line)
		switch {
		case line == "" || strings.HasPrefix(line, "syntax") || strings.HasPrefix(line, "package") || strings.HasPrefix(line, "option "):
		case line == "}":
			message, enum = nil, nil
		case block != nil && block[1] == "message":
			message = &descriptorpb.DescriptorProto{Name: &block[2]}
			file.MessageType = append(file.MessageType, message)
		case block != nil:
			enum = &descriptorpb.EnumDescriptorProto{Name: &block[2]}
			file.EnumType = append(file.EnumType, enum)
		case enum != nil && value != nil:
			enum.Value = append(enum.Value, &descriptorpb.EnumValueDescriptorProto{Name: &value[1], Number: number(t, value[2])})
		case message != nil && field != nil:
			addField(t, message, field)
		default:
			require.FailNow(t, "not understood", "line %d: %s", n+1, line)
		}
	}
	typeFields(file)
	fd, err := protodesc.NewFile(file, nil)
	require.NoError(t, err)
	return fd
}

func addField(t testing.TB, message *descriptorpb.DescriptorProto, parts []string) {
	f := &descriptorpb.FieldDescriptorProto{
		Name: &parts[3], Number: number(t, parts[4]), TypeName: &parts[2],
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	switch parts[1] {
	case "repeated":
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	case "optional":
		f.Proto3Optional = proto.Bool(true)
		f.OneofIndex = proto.Int32(int32(len(message.OneofDecl)))
		message.OneofDecl = append(message.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + parts[3])})
	}
	message.Field = append(message.Field, f)
}

// typeFields resolves the names of types, now that all messages and enums are known.
func typeFields(file *descriptorpb.FileDescriptorProto) {
	for _, m := range file.MessageType {
		for _, f := range m.Field {
			name := f.GetTypeName()
			scalar, ok := descriptorpb.FieldDescriptorProto_Type_value["TYPE_"+strings.ToUpper(name)]
			switch {
			case ok:
				f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_Type(scalar).Enum(), nil
			case slices.ContainsFunc(file.EnumType, func(e *descriptorpb.EnumDescriptorProto) bool { return e.GetName() == name }):
				f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum(), proto.String(".offsetledger.v1."+name)
			default:
				f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(".offsetledger.v1."+name)
			}
		}
	}
}

func number(t testing.TB, s string) *int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	require.NoError(t, err)
	return proto.Int32(int32(n))
}

var allSchemas = []*schema{
	&eventSchema, &sourceSchema, &rowsSchema, &membershipSchema, &memberSchema, &topicPartitionsSchema, &topicInfoSchema,
	&watermarksSchema, &cursorSchema, &openSchema, &holeSchema, &gapSchema, &opaqueSchema, &claimSchema, &checkpointSchema,
	&operationSchema, &snapshotSchema,
}

// Names and numbers of the code are those of docs/event.proto, none more and none less.
func TestProtoFieldsAreThoseOfTheCode(t *testing.T) {
	messages := parseProto(t).Messages()
	require.Equal(t, len(allSchemas), messages.Len())
	for _, s := range allSchemas {
		m := messages.ByName(protoreflect.Name(s.name))
		require.NotNil(t, m, s.name)
		named := map[int]string{}
		for num, name := range s.fields {
			if name != "" {
				named[num] = name
			}
		}
		want := map[int]string{}
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			want[int(f.Number())] = string(f.Name())
		}
		require.Equal(t, want, named, s.name)
	}
}

// The enums of docs/event.proto are those of the code, by name and number.
func TestProtoEnumsAreThoseOfTheCode(t *testing.T) {
	enums := parseProto(t).Enums()
	require.Equal(t, 4, enums.Len())
	for name, names := range map[protoreflect.Name][]string{
		"Kind": kindNames[:], "SourceKind": sourceNames[:], "Cause": causeNames[:], "GroupType": groupTypeNames[:],
	} {
		values := enums.ByName(name).Values()
		require.Equal(t, len(names), values.Len(), name)
		prefix := strings.ToUpper(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(string(name), "${1}_$2")) + "_"
		for n, word := range names {
			if word == "" {
				word = "unspecified"
			}
			want := prefix + strings.ToUpper(strings.ReplaceAll(word, "-", "_"))
			require.Equal(t, want, string(values.ByNumber(protoreflect.EnumNumber(n)).Name()))
		}
	}
}
