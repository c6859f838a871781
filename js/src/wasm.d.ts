// The build replaces an import of the module with its bytes in base64.
declare module "*_bg.wasm" {
  const base64: string;
  export default base64;
}

// The edge runtimes resolve these themselves: the build leaves the imports as they are.
declare module "*/core.wasm" {
  const module: object;
  export default module;
}
declare module "*/core.wasm?module" {
  const module: object;
  export default module;
}
declare module "*/tools.wasm" {
  const module: object;
  export default module;
}
declare module "*/tools.wasm?module" {
  const module: object;
  export default module;
}
