// The flags of `bun build --compile` for everything we compile (DESIGN §5), in one place because the
// benchmarks compare the binary with programs that must be compiled the same way (bench/measure.ts).

export const COMPILE_FLAGS: readonly string[] = [
  "--compile",
  "--splitting",
  "--bytecode",
  "--format=esm",
  "--minify-syntax",
  "--minify-whitespace",
  "--sourcemap",
  // A default build runs a bunfig.toml preload and reads .env of the folder it is started in.
  "--no-compile-autoload-dotenv",
  "--no-compile-autoload-bunfig",
  "--compile-autoload-package-json",
];
