{
  description = "Sluice, a self-hosted AI gateway";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "aarch64-darwin"
      ];
      forEachSystem = build: nixpkgs.lib.genAttrs systems (system: build nixpkgs.legacyPackages.${system});
    in
    {
      # nix develop: Node 24 and what the checks need besides.
      devShells = forEachSystem (pkgs: {
        default = pkgs.mkShell {
          packages = [
            pkgs.nodejs_24
            pkgs.curl
            pkgs.git
          ];
        };
      });

      # nix run: the gateway, with its data in the current directory. The lock file names no addresses, so npm fetches the
      # dependencies itself, into the cache and once for each state of the sources.
      packages = forEachSystem (pkgs: {
        default = pkgs.writeShellApplication {
          name = "sluice";
          runtimeInputs = [
            pkgs.coreutils
            pkgs.nodejs_24
          ];
          text = ''
            home="''${XDG_CACHE_HOME:-$HOME/.cache}/sluice/${builtins.baseNameOf self}"
            if [ ! -e "$home/.installed" ]; then
              rm -rf "$home"
              mkdir -p "$home"
              cp -R ${self}/. "$home"
              chmod -R u+w "$home"
              (cd "$home" && npm ci --omit=dev --no-audit --no-fund)
              touch "$home/.installed"
            fi
            exec node "$home/src/main.ts" "$@"
          '';
        };
      });

      apps = forEachSystem (pkgs: {
        default = {
          type = "app";
          program = "${self.packages.${pkgs.stdenv.hostPlatform.system}.default}/bin/sluice";
        };
      });
    };
}
