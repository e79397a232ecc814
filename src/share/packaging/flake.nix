# SPDX-License-Identifier: MIT
# From a clone: nix build '.?dir=src/share/packaging'. The source is the whole clone.
{
  description = "Check whether clock calls are served by the vDSO";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      forEach = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = forEach (pkgs: {
        default = pkgs.stdenv.mkDerivation {
          pname = "vdsocheck";
          version = "1.0.0";
          src = ../../..;
          strictDeps = true;
          nativeBuildInputs = [ pkgs.pkg-config ];
          buildInputs = [
            pkgs.elfutils
            pkgs.jansson
            pkgs.libiberty
            pkgs.libseccomp
          ] ++ pkgs.lib.optional pkgs.stdenv.hostPlatform.isx86 pkgs.libcpuid;
          # trace loads libdw.
          env.NIX_LDFLAGS = "-rpath ${pkgs.lib.getLib pkgs.elfutils}/lib";
          makeFlags = [ "PREFIX=${placeholder "out"}" ];
          enableParallelBuilding = true;
          doCheck = true;
          checkTarget = "check-package";
          nativeCheckInputs = [
            pkgs.cmocka
            pkgs.mandoc
            pkgs.procps
            (pkgs.python3.withPackages (python: [ python.jsonschema ]))
          ];
          meta = {
            description = "Check whether clock calls are served by the vDSO";
            license = pkgs.lib.licenses.mit;
            mainProgram = "vdsocheck";
            platforms = pkgs.lib.platforms.linux;
          };
        };
      });
    };
}
