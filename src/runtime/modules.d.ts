// Prose beside the code is imported as text; Bun, Deno and the compiled binary all do it.
declare module "*.md" {
  const text: string;
  export default text;
}
