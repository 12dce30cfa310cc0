;; streamparse builds the jar with Leiningen, which only has to put src into it:
;; nothing is fetched. "sparse run" and "sparse stats" ask "lein deps :tree" for
;; the version of Storm. The alias answers without fetching Storm, which a
;; topology in Python does not need.
(defproject wordcount "1.0.0"
  :min-lein-version "2.0.0"
  :resource-paths ["_resources"]
  :target-path "_build"
  :aliases {"deps" ["do" "show-profiles" "storm," "show-profiles"]}
  :profiles {:default []
             :storm {:dependencies [[org.apache.storm/storm-core "2.8"]]}})
