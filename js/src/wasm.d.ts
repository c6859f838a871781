// The build replaces an import of the module by its bytes in base64.
declare module "*/loopwarden_bg.wasm" {
  const base64: string;
  export default base64;
}
