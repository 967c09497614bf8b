// Reads JSON schemas out of TypeScript types, for docs/openapi.js. An interface becomes a schema under its
// name, a comment a description, `@format` above the name of a type its format; what it cannot read it refuses.
import ts from 'typescript';

/** How a name in `src/` is written in the document. */
const NAMES = { MessageRef: 'Ref' };
const isOurs = (node) => !node.getSourceFile().fileName.includes('/node_modules/');
const nameOf = (name) => NAMES[name] ?? name.replace(/^Web/, '');

/** What is written above something, in one line for each paragraph. */
export function commentOf(symbol, checker) {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s+/g, ' ').trim())
    .filter((paragraph) => paragraph !== '');
}

/** The text of a tag of a comment, such as `@format`. */
export function tagOf(symbol, name) {
  const tag = symbol.getJsDocTags().find((one) => one.name === name);
  return tag && ts.displayPartsToString(tag.text).replace(/\s+/g, ' ').trim();
}

export class Schemas {
  /** Those that were referred to, by their names in the document. */
  found = {};
  #checker;

  constructor(checker) {
    this.#checker = checker;
  }

  /** Refers to the schema of an interface. */
  refer(type) {
    const { symbol } = type;
    const name = nameOf(symbol.name);
    if (!symbol.declarations.every((one) => ts.isInterfaceDeclaration(one) && isOurs(one)))
      throw new Error(`docs/schemas.js: ${symbol.name} is not an interface of ours`);
    if (!Object.hasOwn(this.found, name)) {
      // Its place, before one that refers to itself asks for it.
      this.found[name] = {};
      this.found[name] = { ...this.#described(symbol), ...this.#object(type) };
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The schema of each property of an interface, under its name behind a prefix. */
  referEach(type, prefix) {
    return Object.fromEntries(
      this.#checker.getPropertiesOfType(type).map((property) => {
        const name = `${prefix}${property.name}`;
        this.found[name] = { ...this.#described(property), ...this.#property(property) };
        return [property.name, { $ref: `#/components/schemas/${name}` }];
      }),
    );
  }

  #described(symbol) {
    const description = commentOf(symbol, this.#checker).join(' ');
    return description === '' ? {} : { description };
  }

  #object(type) {
    const properties = this.#checker.getPropertiesOfType(type);
    const required = properties.filter(({ flags }) => (flags & ts.SymbolFlags.Optional) === 0);
    return {
      type: 'object',
      properties: Object.fromEntries(
        properties.map((property) => [
          property.name,
          { ...this.#property(property), ...this.#described(property) },
        ]),
      ),
      required: required.map(({ name }) => name),
      additionalProperties: false,
    };
  }

  #property(property) {
    return this.#schema(property.declarations[0].type);
  }

  #schema(node) {
    switch (node.kind) {
      case ts.SyntaxKind.StringKeyword:
        return { type: 'string' };
      case ts.SyntaxKind.NumberKeyword:
        return { type: 'number' };
      case ts.SyntaxKind.BooleanKeyword:
        return { type: 'boolean' };
      case ts.SyntaxKind.ParenthesizedType:
        return this.#schema(node.type);
      case ts.SyntaxKind.ArrayType:
        return { type: 'array', items: this.#schema(node.elementType) };
      case ts.SyntaxKind.LiteralType:
        if (node.literal.kind === ts.SyntaxKind.NullKeyword) return { type: 'null' };
        if (ts.isStringLiteral(node.literal)) return { type: 'string', enum: [node.literal.text] };
        break;
      case ts.SyntaxKind.IndexedAccessType: {
        const type = this.#checker.getTypeAtLocation(node.objectType);
        const name = node.indexType.literal?.text;
        const property = name && this.#checker.getPropertyOfType(type, name);
        if (property) return this.#property(property);
        break;
      }
      case ts.SyntaxKind.UnionType:
        return either(node.types.map((one) => this.#schema(one)));
      case ts.SyntaxKind.TypeReference:
        return this.#named(node);
      case ts.SyntaxKind.TypeLiteral:
      case ts.SyntaxKind.IntersectionType:
        return this.#object(this.#checker.getTypeAtLocation(node));
    }
    throw new Error(`docs/schemas.js cannot read the type ${node.getText()}`);
  }

  #named(node) {
    const symbol = this.#checker.getSymbolAtLocation(node.typeName);
    const known =
      symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
    const type = this.#checker.getTypeAtLocation(node);
    if (known.flags & ts.SymbolFlags.Interface) return this.refer(type);
    const alias = known.declarations?.find(ts.isTypeAliasDeclaration);
    // A type made of another, such as Pick<…>.
    if (!alias || alias.typeParameters) return this.#object(type);
    const format = tagOf(known, 'format');
    return { ...this.#schema(alias.type), ...(format && { format }) };
  }
}

/** One of several schemas: values together, and `null` as a type where that says it. */
function either(schemas) {
  const values = schemas.flatMap((schema) => schema.enum ?? []);
  const others = schemas.filter((schema) => !schema.enum);
  const all = values.length > 0 ? [{ type: 'string', enum: values }, ...others] : others;
  const [only, empty, ...more] = all;
  if (empty === undefined) return only;
  const isPlain = typeof only.type === 'string' && only.type !== 'object' && !only.enum;
  if (more.length === 0 && empty.type === 'null' && isPlain)
    return { ...only, type: [only.type, 'null'] };
  return { anyOf: all };
}
